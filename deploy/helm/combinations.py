"""Combinations of values that the check of the chart renders, and those that the values schema has to refuse."""

POSTGRES = {
    "storage": {"kind": "postgres", "postgres": {"urlSecret": {"name": "svc-postgres", "key": "url"}}},
    "redis": {"urlSecret": {"name": "svc-redis", "key": "url"}},
}

# Switches that do not depend on each other, each with its off and its on: every set of them is rendered.
SWITCHES = {
    "tls": [{}, {"tls": {"secretName": "svc-tls"}}],
    "encryption": [{}, {"encryptionKey": {"name": "svc-encryption", "key": "key"}}],
    "network": [
        {"networkPolicy": {"enabled": False}},
        {},
        {"networkPolicy": {"egress": [{"to": [{"podSelector": {}}]}], "requestsFrom": [{"podSelector": {}}]}},
    ],
    "monitoring": [{}, {"serviceMonitor": {"enabled": True}, "prometheusRule": {"enabled": True}}],
}

# What only a Deployment has.
SCALES = [
    {"replicas": 1},
    {"replicas": 5, "podDisruptionBudget": {"enabled": False}},
    {"autoscaling": {"enabled": True}},
    {"autoscaling": {"enabled": True, "cpuPercent": 0, "queueDepth": {"enabled": True, "perPod": 20}}},
]

# Values that must not be rendered, each with a word of the refusal.
REFUSED = [
    ({"storage": {"kind": "mysql"}}, "storage"),
    ({"storage": {"kind": ""}}, "kind"),
    ({"storage": {"kind": "sqlite"}, "replicas": 2}, "replicas"),
    ({"storage": {"kind": "sqlite"}, "autoscaling": {"enabled": True}}, "autoscaling"),
    ({"storage": {"kind": "sqlite"}, "redis": POSTGRES["redis"]}, "not"),
    ({"storage": {"kind": "sqlite", "postgres": POSTGRES["storage"]["postgres"]}}, "storage"),
    ({"storage": {"kind": "postgres"}, "redis": POSTGRES["redis"]}, "postgres"),
    ({"storage": POSTGRES["storage"]}, "redis"),
    ({**POSTGRES, "storage": {**POSTGRES["storage"], "sqlite": {"size": "1Gi"}}}, "storage"),
    ({**POSTGRES, "replicas": 0}, "replicas"),
    ({**POSTGRES, "redis": {"url": "redis://:secret@redis"}}, "redis"),
    ({**POSTGRES, "autoscaling": {"enabled": True, "cpuPercent": 0}}, "autoscaling"),
    ({"storage": {"kind": "sqlite", "sqlite": {"size": "10"}}}, "size"),
    ({"adminKeys": {"name": "", "key": "key"}}, "adminKeys"),
    ({"adminKey": {"name": "svc-admin", "key": "key"}}, "adminKey"),
    ({"image": {"repository": "svc", "digest": "latest"}}, "digest"),
    ({"shutdown": {"drainSeconds": -1, "forceSeconds": 30}}, "drainSeconds"),
    ({"podDisruptionBudget": {"maxUnavailable": "none"}}, "maxUnavailable"),
]
