# The store of images, sourced by the scripts of this folder: a place of its own in the user's cache, with tools that run
# without a daemon, without systemd and without the privileges of a container host.
containers=${XDG_CACHE_HOME:-$HOME/.cache}/svc-peers/containers
store=(--root "$containers/storage" --runroot "$containers/run" --storage-driver vfs)
tagged=localhost/svc:${TAG:-dev}

ensure_tools() {
  local peer
  for peer in buildah podman runc debootstrap curl openssl; do "$checkout/tests/peers/ensure" "$peer"; done
  mkdir -p "$containers"
}
run_buildah() { buildah "${store[@]}" "$@"; }
run_podman() { podman "${store[@]}" --runtime runc --cgroup-manager cgroupfs --events-backend none "$@"; }
