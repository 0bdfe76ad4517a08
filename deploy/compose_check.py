"""compose_check.py SCHEMA FILE…: checks compose files against the schema of their format, and against what the service asks of
them: settings that exist, the hardening of the image, a grace period that is longer than the shutdown, files that are there."""

import json
import pathlib
import re
import sys

import jsonschema
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[1]
SETTINGS = set(re.findall(r"`(SVC_[A-Z0-9_]+)`", (ROOT / "docs/configuration.md").read_text()))
HARDENING = {"read_only": True, "cap_drop": ["ALL"], "security_opt": ["no-new-privileges:true"]}


def is_ours(service):
    return "SVC_IMAGE" in service.get("image", "")


def check_service(name, service, folder):
    for variable in service.get("environment", {}):
        assert not variable.startswith("SVC_") or variable in SETTINGS, f"{name}: {variable} is no setting"
    for volume in service.get("volumes", []):
        source = volume.split(":")[0]
        # What another part of the project makes is looked for once it is there.
        is_made_elsewhere = source.startswith("../monitoring") and not (ROOT / "deploy/monitoring").exists()
        assert not source.startswith(".") or is_made_elsewhere or (folder / source).exists(), f"{name}: {source} is missing"
    for port in service.get("ports", []):
        assert port.startswith("127.0.0.1:"), f"{name}: {port} is open to other machines"
    if is_ours(service):
        for key, value in HARDENING.items():
            assert service.get(key) == value, f"{name}: {key} is not {value}"
        if "command" not in service:
            assert int(service["stop_grace_period"].removesuffix("s")) > 60, name


def check_balancer(text):
    """The nodes trust the network of the balancer, so that what callers say about themselves must end at it."""
    for header in ("x-forwarded-for", "x-real-ip"):
        assert f"http-request del-header {header}" in text, f"haproxy.cfg: {header} of callers reaches the nodes"


def main():
    schema = json.loads(pathlib.Path(sys.argv[1]).read_text())
    count = 0
    check_balancer((ROOT / "deploy/container/haproxy.cfg").read_text())
    for path in map(pathlib.Path, sys.argv[2:]):
        document = yaml.safe_load(path.read_text())
        # Newer than the schema that can be had.
        assert isinstance(document.pop("name"), str)
        jsonschema.validate(document, schema)
        for name, service in document["services"].items():
            check_service(name, service, path.parent)
            needed = service.get("depends_on", [])
            assert set(needed) <= set(document["services"]), f"{name} needs {needed}"
            count += 1
        used = {volume.split(":")[0] for service in document["services"].values() for volume in service.get("volumes", [])}
        assert {name for name in used if "/" not in name} == set(document["volumes"]), f"{path}: volumes {used}"
    print(f"{count} services of compose files")


main()
