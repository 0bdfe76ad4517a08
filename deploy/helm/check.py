"""check.py HELM [SERVER]: renders the chart with every combination of values and looks at every object: against the schemas of
Kubernetes (the oldest and the newest release that the chart is for), against the shapes of the Prometheus operator that are
kept here, and against what holds for each of them (security, names that meet, settings that exist). Values that make no
sense are refused by the values schema. With SERVER the rendered configuration and its variables are validated by the program
itself."""

import functools
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import jsonschema
import kubernetes_validate
import yaml

from combinations import POSTGRES, REFUSED, SCALES, SWITCHES

HERE = pathlib.Path(__file__).resolve().parent
CHART = HERE / "svc"
ROOT = HERE.parents[1]
RELEASES = ["1.27", "1.36"]
OPERATOR = json.loads((HERE / "operator.schema.json").read_text())
SETTINGS = set(re.findall(r"`(SVC_[A-Z0-9_]+)`", (ROOT / "docs/configuration.md").read_text()))


def render(helm, values):
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        yaml.safe_dump(values, file)
        file.flush()
        command = [helm, "template", "prod", str(CHART), "--namespace", "svc", "--values", file.name]
        return subprocess.run(command, capture_output=True, text=True)


def combinations():
    for chosen in itertools.product(*SWITCHES.values()):
        values = {key: value for switch in chosen for key, value in switch.items()}
        yield {"storage": {"kind": "sqlite"}, **values}
        for scale in SCALES:
            yield {**POSTGRES, **values, **scale}
    for file in sorted((CHART / "ci").glob("*.yaml")):
        yield yaml.safe_load(file.read_text())


def pod_of(document):
    return document["spec"]["template"]["spec"] if document["kind"] in ("Deployment", "StatefulSet", "Job") else None


def check_pod(pod):
    security = pod["securityContext"]
    assert security["runAsNonRoot"] and security["runAsUser"] == 65532, security
    assert security["seccompProfile"] == {"type": "RuntimeDefault"}, security
    assert pod["automountServiceAccountToken"] is False
    volumes = {volume["name"] for volume in pod["volumes"]}
    for container in pod["containers"]:
        security = container["securityContext"]
        assert security["readOnlyRootFilesystem"] and not security["allowPrivilegeEscalation"], security
        assert security["capabilities"] == {"drop": ["ALL"]}, security
        mounts = {mount["name"] for mount in container["volumeMounts"]}
        assert mounts - volumes <= {"state"}, (mounts, volumes)
        names = [variable["name"] for variable in container["env"]]
        assert len(names) == len(set(names)), names
        for variable in container["env"]:
            name = variable["name"]
            assert not name.startswith("SVC_") or name.startswith("SVC_SECRET_") or name in SETTINGS, f"{name} is no setting"
            is_secret = re.search(r"KEY|URL|PASSWORD", name) and not str(variable.get("value", "")).startswith("sqlite:")
            assert not is_secret or "secretKeyRef" in variable.get("valueFrom", {}) or name.endswith("_PATH"), f"{name} is written out"


def check_names(documents, values):
    """Checks that what names another object of the release names one that is rendered."""
    kinds = {(document["kind"], document["metadata"]["name"]): document for document in documents}
    workload = kinds.get(("Deployment", "prod-svc")) or kinds[("StatefulSet", "prod-svc")]
    labels = workload["spec"]["template"]["metadata"]["labels"]
    is_cluster = values["storage"]["kind"] == "postgres"
    assert (workload["kind"] == "Deployment") == is_cluster
    assert (("Job", "prod-svc-migrate") in kinds) == is_cluster
    scales = values.get("autoscaling", {}).get("enabled", False)
    assert (("HorizontalPodAutoscaler", "prod-svc") in kinds) == scales
    assert ("replicas" in workload["spec"]) != scales
    assert (("PodDisruptionBudget", "prod-svc") in kinds) == (is_cluster and values.get("podDisruptionBudget", {}).get("enabled", True))
    ports = {port["name"] for port in workload["spec"]["template"]["spec"]["containers"][0]["ports"]}
    for document in documents:
        spec = document.get("spec", {})
        if document["kind"] == "Service":
            assert spec["selector"].items() <= labels.items(), document
            assert all(port["targetPort"] in ports for port in spec["ports"]), document
        if document["kind"] in ("Deployment", "StatefulSet", "PodDisruptionBudget"):
            assert spec["selector"]["matchLabels"].items() <= labels.items(), document
        if document["kind"] == "NetworkPolicy":
            assert spec["podSelector"]["matchLabels"].items() <= labels.items(), document
        if document["kind"] == "ServiceMonitor":
            services = [other for other in documents if other["kind"] == "Service"]
            wanted = spec["selector"]["matchLabels"].items()
            [service] = [other for other in services if wanted <= other["metadata"]["labels"].items()]
            assert {endpoint["port"] for endpoint in spec["endpoints"]} <= {port["name"] for port in service["spec"]["ports"]}
    pod = workload["spec"]["template"]["spec"]
    shutdown = values.get("shutdown", {"drainSeconds": 30, "forceSeconds": 30})
    assert pod["terminationGracePeriodSeconds"] > sum(shutdown.values())
    startup = pod["containers"][0]["startupProbe"]
    deadline = values.get("migration", {}).get("deadlineSeconds", 1800)
    assert startup["periodSeconds"] * startup["failureThreshold"] >= (120 if is_cluster else max(120, deadline - 1))
    given = {volume["name"] for volume in values.get("volumes", [])}
    for volume in pod["volumes"]:
        if "configMap" in volume and volume["name"] not in given:
            assert ("ConfigMap", volume["configMap"]["name"]) in kinds
    for document in documents:
        # The migration reads the same files.
        inner = pod_of(document)
        assert not inner or given <= {mount["name"] for mount in inner["containers"][0]["volumeMounts"]}, given
    assert ("ServiceAccount", pod["serviceAccountName"]) in kinds


@functools.cache
def check_text(text):
    """Checks an object once, however many combinations make the same."""
    document = json.loads(text)
    if document["apiVersion"].startswith("monitoring.coreos.com/"):
        jsonschema.validate(document, OPERATOR)
    else:
        for release in RELEASES:
            kubernetes_validate.validate(document, release, strict=True)
    pod = pod_of(document)
    if pod:
        check_pod(pod)


def check_configuration(server, documents):
    """Has the program validate the configuration with the variables of the container; secrets get values of their kind."""
    stand_ins = {
        "SVC_ADMIN_AUTH__API_KEYS": "0123456789abcdef0123456789abcdef",
        "SVC_STORAGE__URL": "postgres://svc:password@postgres/svc",
        "SVC_CLUSTER__REDIS_URL": "redis://:password@redis:6379",
        "SVC_STORAGE__CONNECTOR_ENCRYPTION_KEY": "0123456789abcdef" * 4,
        "SVC_CLUSTER__INSTANCE_ID": "prod-svc-7d4b9c6f5-x2x9q",
    }
    config = next(document for document in documents if document["kind"] == "ConfigMap")["data"]["svc.toml"]
    for document in documents:
        pod = pod_of(document)
        if pod:
            variables = pod["containers"][0]["env"]
            environment = {variable["name"]: variable.get("value", stand_ins.get(variable["name"], "x")) for variable in variables}
            # The files of a certificate are not here; that they are looked for is known elsewhere.
            environment = {name: value for name, value in environment.items() if "__TLS__" not in name}
            with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
                file.write(config)
                file.flush()
                command = [server, "--config", file.name, "validate-config"]
                answer = subprocess.run(command, capture_output=True, text=True, env={"PATH": os.environ["PATH"], **environment})
            assert answer.returncode == 0, answer.stderr


def check_rules(documents):
    rules = [document for document in documents if document["kind"] == "PrometheusRule"]
    for document in rules:
        with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
            yaml.safe_dump(document["spec"], file)
            file.flush()
            subprocess.run(["promtool", "check", "rules", file.name], check=True, stdout=subprocess.DEVNULL)
    return len(rules)


def main():
    helm, server = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None
    for values in [None, *sorted((CHART / "ci").glob("*.yaml"))]:
        command = [helm, "lint", "--strict", str(CHART), *(["--values", str(values)] if values else [])]
        linted = subprocess.run(command, capture_output=True, text=True)
        assert linted.returncode == 0 and "[WARNING]" not in linted.stdout, linted.stdout + linted.stderr
    renderings = objects = rules = 0
    for values in combinations():
        answer = render(helm, values)
        assert answer.returncode == 0, f"{values}: {answer.stderr}"
        documents = [document for document in yaml.safe_load_all(answer.stdout) if document]
        try:
            for document in documents:
                check_text(json.dumps(document, sort_keys=True))
            check_names(documents, values)
            if server:
                check_configuration(server, documents)
            if not rules:
                rules = check_rules(documents)
        except Exception:
            print(f"values: {json.dumps(values)}", file=sys.stderr)
            raise
        renderings += 1
        objects += len(documents)
    assert rules, "no combination renders the rules"
    for values, word in REFUSED:
        answer = render(helm, values)
        assert answer.returncode != 0, f"rendered: {values}"
        assert "values don't meet the specifications of the schema" in answer.stderr, f"{values}: {answer.stderr}"
        assert word in answer.stderr, f"{values}: {word} is not in {answer.stderr}"
    print(f"{renderings} combinations of values, {objects} objects, {len(REFUSED)} refused")


main()
