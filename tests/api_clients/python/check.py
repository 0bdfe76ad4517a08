"""Drives a server with the package that openapi-python-client made: check.py URL KEY."""

import sys

from svc_client import AuthenticatedClient
from svc_client.api.channels import change_channel_status, create_channel, delete_channel
from svc_client.api.data import run_channel, submit
from svc_client.api.functions import list_functions
from svc_client.api.traces import get_trace
from svc_client.api.workflows import (
    change_workflow_status,
    create_workflow,
    delete_workflow,
    get_workflow,
    list_workflows,
)
from svc_client.models import (
    ChannelWarnedResponse,
    ErrorEnvelope,
    NewChannel,
    NewWorkflow,
    SubmissionReceipt,
    StatusChange,
    StatusChangeStatus,
    TraceResponse,
    ValidationResponse,
    WorkflowPage,
    WorkflowWarnedResponse,
)

WORKFLOW = {
    "workflow_id": "py-greeting",
    "name": "Greeting",
    "tags": ["python"],
    "tasks": [
        {"id": "parse", "name": "Parse", "function": {"name": "parse_json", "input": {"source": "payload", "target": "input"}}},
        {
            "id": "greet",
            "name": "Greet",
            "function": {
                "name": "map",
                "input": {"mappings": [{"path": "data.text", "logic": {"cat": ["Hello, ", {"var": "data.input.name"}]}}]},
            },
        },
    ],
}
CHANNEL = {
    "channel_id": "py-greetings",
    "name": "py-greetings",
    "channel_type": "sync",
    "protocol": "rest",
    "methods": ["POST"],
    "route_pattern": "/py-greetings",
    "workflow_id": "py-greeting",
}


def expect(answer, kind):
    """Returns an answer of this type."""
    assert isinstance(answer, kind), f"{kind.__name__} is expected, not {answer}"
    return answer


def main(url, key):
    client = AuthenticatedClient(base_url=url, token=key, raise_on_unexpected_status=True)

    # Create.
    workflow = NewWorkflow.from_dict(WORKFLOW)
    created = expect(create_workflow.sync(client=client, body=workflow), WorkflowWarnedResponse)
    assert (created.data.workflow_id, created.data.version, created.data.status) == ("py-greeting", 1, "draft"), created
    assert created.data.created_at.tzinfo is not None, "instants are read as such"
    expect(create_channel.sync(client=client, body=NewChannel.from_dict(CHANNEL)), ChannelWarnedResponse)
    again = expect(create_workflow.sync(client=client, body=workflow), ErrorEnvelope)
    assert again.error.code == "CONFLICT", again

    # Activate: a trial first.
    active = StatusChange(status=StatusChangeStatus.ACTIVE)
    trial = change_workflow_status.sync("py-greeting", client=client, body=active, dry_run=True)
    assert expect(trial, ValidationResponse).data.valid, trial
    activated = change_workflow_status.sync("py-greeting", client=client, body=active)
    assert expect(activated, WorkflowWarnedResponse).data.status == "active", activated
    expect(change_channel_status.sync("py-greetings", client=client, body=active), ChannelWarnedResponse)

    # Call, at once and later.
    run = run_channel.sync("py-greetings", client=client, body={"name": "Ada"})
    assert run.status == "ok" and run.data["text"] == "Hello, Ada", run
    accepted = expect(submit.sync("py-greetings", client=client, body={"name": "Ada"}), SubmissionReceipt)
    while True:
        trace = expect(get_trace.sync(accepted.trace_id, client=client), TraceResponse)
        if trace.data.status not in ("pending", "running"):
            break
    assert trace.data.status == "completed", trace

    # List.
    page = expect(list_workflows.sync(client=client, tag="python", limit=10), WorkflowPage)
    assert ([row.workflow_id for row in page.data], page.total) == (["py-greeting"], 1), page
    assert any(row.name == "map" for row in list_functions.sync(client=client).data)

    # Delete: what is used stays.
    refused = expect(delete_workflow.sync("py-greeting", client=client), ErrorEnvelope)
    assert refused.error.code == "CONFLICT", refused
    assert delete_channel.sync_detailed("py-greetings", client=client).status_code == 204
    assert delete_workflow.sync_detailed("py-greeting", client=client).status_code == 204
    gone = expect(get_workflow.sync("py-greeting", client=client), ErrorEnvelope)
    assert gone.error.code == "NOT_FOUND", gone
    print("created, activated, called, listed and deleted")


main(*sys.argv[1:])
