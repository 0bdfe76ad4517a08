# Targets of deploy/, included by the Makefile.
.PHONY: compile-release image check-image packages preview-packages check-packages check-install deploy-check sbom licences release check-reproducible publish-check

target_of = $$($(CARGO) metadata --format-version 1 --no-deps | sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p')
programs = "$(or $(PROGRAMS),$(target_of)/release)"

compile-release: console
	deploy/release/compile

image: $(if $(PROGRAMS),,compile-release) ## the container image localhost/svc:dev of ready programs, by buildah (PROGRAMS=folder of svc-server and svc-cli; without it the release is compiled)
	deploy/container/image $(programs)

check-image: image ## build the image and run it by podman as its users do: read-only, another user than root, answering a request
	deploy/container/check

packages: $(if $(PROGRAMS),,compile-release) ## the deb and the rpm, in target/packages (PROGRAMS=folder of svc-server and svc-cli; without it the release is compiled)
	rm -rf target/packages
	FAST=$(FAST) deploy/package/build $(programs) target/packages

preview-packages: $(if $(PROGRAMS),,compile-release)
	tests/peers/ensure rpmbuild rpm
	rm -rf target/packages
	deploy/package/preview $(programs) target/packages

check-packages: $(if $(PREVIEW),preview-packages,packages) ## lint the packages; install, upgrade, remove and purge the deb in a Debian of its own (FAST=1: compressed quickly; PREVIEW=1: made by dpkg-deb and rpmbuild of the same metadata)
	deploy/package/check target/packages

check-install: packages ## follow docs/production.md word for word on a fresh Debian that systemd has started: the deb, PostgreSQL, TLS, a first package, every query of the dashboards, an upgrade, a restart on the socket (FAST=1, PROGRAMS=folder)
	deploy/package/walk target/packages/*.deb

deploy-check: ## scripts, Dockerfile, compose files, signatures, and the Helm chart in every combination of its values (SERVER=file: configurations are validated by that svc-server)
	@deploy/check $(SERVER)

sbom: ## the parts of both programs as CycloneDX, in target/sbom; installs cargo-cyclonedx where it is missing
	deploy/release/sbom target/sbom

licences: ## the licences of all crates with their texts, target/LICENCES.txt; installs cargo-about where it is missing
	deploy/release/licences target/LICENCES.txt

release: ## everything of a release of this commit, in target/release-files (KEY=file: sealed with that Ed25519 key)
	rm -rf target/release-files
	deploy/release/build target/release-files
	$(if $(KEY),deploy/release/seal "$(KEY)" target/release-files)

check-reproducible: ## build the release of this commit twice and compare every byte; takes two release builds
	deploy/release/reproduce

publish-check: ## what crates.io would get of the crate meant for others, actix-supervision: packed and compiled by itself, not sent
	$(CARGO) publish --dry-run -p actix-supervision
