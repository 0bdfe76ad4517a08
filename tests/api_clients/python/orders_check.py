"""Drives examples/orders with the package that openapi-python-client made: orders_check.py URL TOKEN."""

import sys

from channels_client import AuthenticatedClient
from channels_client.api.default import order_cancel, order_create, order_get, order_list, order_stats
from channels_client.models import OrderGetResponse, OrderListResponse, OrderStatsResponse

url, token = sys.argv[1:]
client = AuthenticatedClient(base_url=url, token=token)


def expect(answer, kind):
    """Returns the body of an answer of this type."""
    assert isinstance(answer.parsed, kind), f"{kind.__name__} is expected, not {answer}"
    return answer.parsed


created = order_create.sync_detailed(client=client, body={"item": "chair", "qty": 4})
assert created.status_code == 201, created
id = created.headers["location"].rsplit("/", 1)[1]
order = expect(order_get.sync_detailed(id, client=client), OrderGetResponse)
assert (order.id, order.item, order.qty, order.state) == (int(id), "chair", 4, "open"), order
assert order.created_at.tzinfo is not None
listed = expect(order_list.sync_detailed(client=client), OrderListResponse)
assert listed.items[-1].to_dict() == order.to_dict(), listed
assert expect(order_stats.sync_detailed(client=client), OrderStatsResponse).states
assert order_cancel.sync_detailed(id, client=client).status_code == 204
assert order_cancel.sync_detailed(id, client=client).status_code == 404
assert expect(order_get.sync_detailed(id, client=client), OrderGetResponse).state == "cancelled"
stranger = order_get.sync_detailed(id, client=AuthenticatedClient(base_url=url, token="none"))
assert stranger.status_code == 401, stranger
print("the client took, read, listed and cancelled an order")
