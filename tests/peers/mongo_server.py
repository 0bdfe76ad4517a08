"""A server of MongoDB's wire protocol over mongomock: independent of the service and of its driver.

usage: mongo_server.py PORT_FILE PORT [TLS_DIR]

PORT 0 is any free one. With TLS_DIR, which holds cert.pem and key.pem, it speaks TLS alone.

Speaks OP_MSG and the OP_QUERY hello of first contact; cursors with getMore, write errors with their index, SCRAM-SHA-256
for the user svc (password pencil), and the fail point failCommand as real servers have it: by appName, with errorCode,
blockTimeMS and closeConnection. Keeps its data while it runs.
"""
import base64
import hashlib
import hmac
import itertools
import os
import socketserver
import ssl
import struct
import sys
import threading
import time

import bson
import mongomock
from bson.codec_options import CodecOptions
from bson.son import SON
from mongomock.filtering import filter_applies

USER, PASSWORD, SALT, ROUNDS = "svc", "pencil", b"0123456789abcdef", 4096
OPTIONS = CodecOptions(document_class=SON, tz_aware=False)

store = mongomock.MongoClient()
lock = threading.Lock()
cursors, cursor_ids = {}, itertools.count(1000)
connection_ids = itertools.count(1)
fail_point = {"mode": "off"}
tls = None


class Refused(Exception):
    def __init__(self, code, name, text):
        super().__init__(text)
        self.code, self.name = code, name


def hello():
    return {
        "isWritablePrimary": True, "ismaster": True, "helloOk": True, "readOnly": False,
        "maxBsonObjectSize": 16777216, "maxMessageSizeBytes": 48000000, "maxWriteBatchSize": 100000,
        "minWireVersion": 0, "maxWireVersion": 21, "logicalSessionTimeoutMinutes": 30,
        "saslSupportedMechs": ["SCRAM-SHA-256"], "ok": 1.0,
    }


def first_batch(namespace, documents, size):
    head, rest = documents[:size], documents[size:]
    cursor = 0
    if rest:
        cursor = next(cursor_ids)
        cursors[cursor] = (namespace, rest)
    return {"cursor": {"id": bson.Int64(cursor), "ns": namespace, "firstBatch": head}, "ok": 1.0}


def get_more(command):
    namespace, rest = cursors.pop(command["getMore"], (None, None))
    if namespace is None:
        raise Refused(43, "CursorNotFound", "cursor id not found")
    size = command.get("batchSize") or 101
    cursor = command["getMore"] if rest[size:] else 0
    if cursor:
        cursors[cursor] = (namespace, rest[size:])
    return {"cursor": {"id": bson.Int64(cursor), "ns": namespace, "nextBatch": rest[:size]}, "ok": 1.0}


def write_error(index, error):
    code = 11000 if isinstance(error, mongomock.DuplicateKeyError) else 2
    return {"index": index, "code": code, "errmsg": str(error)}


def each(items, ordered, act):
    """Acts on each item; the errors, of which the first ends an ordered batch."""
    errors = []
    for index, item in enumerate(items):
        try:
            act(index, item)
        except Exception as error:  # mongomock raises what it likes
            errors.append(write_error(index, error))
            if ordered:
                break
    return {"writeErrors": errors} if errors else {}


def insert(collection, command):
    done = []
    errors = each(command["documents"], command.get("ordered", True),
                  lambda _, document: done.append(collection.insert_one(document)))
    return {"n": len(done), "ok": 1.0, **errors}


def filtered(collection, item, total):
    """An update over the elements that array filters choose, which mongomock does not know: one $[identifier] in a path."""
    for document in list(collection.find(item["q"]).limit(0 if item.get("multi") else 1)):
        change = {}
        for operator, fields in item["u"].items():
            for path, value in fields.items():
                before, _, rest = path.partition(".$[")
                identifier, _, after = rest.partition("]")
                chosen = {"$and": [only for only in item["arrayFilters"]
                                   if next(iter(only)).split(".")[0] == identifier]}
                for index, element in enumerate(document[before]):
                    if filter_applies(chosen, {identifier: element}):
                        change.setdefault(operator, {})[f"{before}.{index}{after}"] = value
        total["n"] += 1
        if change:
            total["nModified"] += collection.update_one({"_id": document["_id"]}, change).modified_count


def update(collection, command):
    total = {"n": 0, "nModified": 0}
    upserted = []

    def act(index, item):
        options = {"upsert": bool(item.get("upsert"))}
        if any(key.startswith("$") for key in item["u"]):
            change = collection.update_many if item.get("multi") else collection.update_one
            if item.get("arrayFilters"):
                filtered(collection, item, total)
                return
        else:
            change = collection.replace_one
        result = change(item["q"], item["u"], **options)
        total["n"] += result.matched_count
        total["nModified"] += result.modified_count or 0
        if result.upserted_id is not None:
            total["n"] += 0 if result.matched_count else 1
            upserted.append({"index": index, "_id": result.upserted_id})

    errors = each(command["updates"], command.get("ordered", True), act)
    return {**total, "ok": 1.0, **({"upserted": upserted} if upserted else {}), **errors}


def delete(collection, command):
    gone = []

    def act(_, item):
        removal = collection.delete_one if item.get("limit") else collection.delete_many
        gone.append(removal(item["q"]).deleted_count)

    errors = each(command["deletes"], command.get("ordered", True), act)
    return {"n": sum(gone), "ok": 1.0, **errors}


def find(collection, namespace, command):
    found = collection.find(command.get("filter") or {}, command.get("projection") or None)
    if command.get("sort"):
        found = found.sort(list(command["sort"].items()))
    if command.get("skip"):
        found = found.skip(command["skip"])
    if command.get("limit"):
        found = found.limit(abs(command["limit"]))
    size = command.get("batchSize")
    return first_batch(namespace, list(found), 101 if size is None else size)


def aggregate(collection, namespace, command):
    made = list(collection.aggregate(command["pipeline"]))
    if any(stage in command["pipeline"][-1] for stage in ("$out", "$merge")):
        made = []
    size = (command.get("cursor") or {}).get("batchSize")
    return first_batch(namespace, made, 101 if size is None else size)


def create_indexes(collection, command):
    for index in command["indexes"]:
        collection.create_index(list(index["key"].items()), unique=bool(index.get("unique")))
    return {"ok": 1.0}


class Scram:
    """One conversation of RFC 7677; the password is in it as a proof only."""

    def start(self, payload):
        bare = payload.split(",,", 1)[1]
        fields = dict(part.split("=", 1) for part in bare.split(","))
        if fields["n"] != USER:
            raise Refused(18, "AuthenticationFailed", "Authentication failed.")
        nonce = fields["r"] + base64.b64encode(os.urandom(18)).decode()
        self.nonce = nonce
        reply = f"r={nonce},s={base64.b64encode(SALT).decode()},i={ROUNDS}"
        self.message = f"{bare},{reply}"
        return reply

    def finish(self, payload):
        unproven, proof = payload.rsplit(",p=", 1)
        message = f"{self.message},{unproven}".encode()
        salted = hashlib.pbkdf2_hmac("sha256", PASSWORD.encode(), SALT, ROUNDS)
        sign = lambda key, text: hmac.new(key, text, hashlib.sha256).digest()
        client = sign(salted, b"Client Key")
        signature = sign(hashlib.sha256(client).digest(), message)
        due = bytes(a ^ b for a, b in zip(client, signature))
        if not hmac.compare_digest(due, base64.b64decode(proof)) or self.nonce not in unproven:
            raise Refused(18, "AuthenticationFailed", "Authentication failed.")
        return "v=" + base64.b64encode(sign(sign(salted, b"Server Key"), message)).decode()


class Connection(socketserver.BaseRequestHandler):
    app, scram = None, None

    def exactly(self, count):
        data = b""
        while len(data) < count:
            part = self.request.recv(count - len(data))
            if not part:
                raise EOFError
            data += part
        return data

    def sasl(self, command, verb):
        payload = bytes(command["payload"]).decode()
        if verb == "saslStart":
            if command["mechanism"] != "SCRAM-SHA-256":
                raise Refused(18, "AuthenticationFailed", "mechanism")
            self.scram = Scram()
            reply, done = self.scram.start(payload), False
        else:
            reply, done = self.scram.finish(payload), True
        return {"conversationId": 1, "done": done, "payload": reply.encode(), "ok": 1.0}

    def failing(self, verb):
        """What the fail point does to a command: an answer, a pause, or the end of the connection."""
        mode, data = fail_point["mode"], fail_point.get("data", {})
        if mode == "off" or verb not in data.get("failCommands", []):
            return None
        if data.get("appName") not in (None, self.app):
            return None
        if isinstance(mode, dict) and "times" in mode:
            mode["times"] -= 1
            if mode["times"] <= 0:
                fail_point["mode"] = "off"
        if data.get("blockConnection"):
            time.sleep(data.get("blockTimeMS", 0) / 1000)
        if data.get("closeConnection"):
            raise EOFError
        if "errorCode" in data:
            raise Refused(data["errorCode"], data.get("codeName", "Failed"), "failing command through fail point")
        return None

    def run(self, command):
        verb = next(iter(command))
        application = (command.get("client") or {}).get("application")
        if application:
            self.app = application["name"]
        if verb.lower() in ("hello", "ismaster"):
            return {**hello(), "connectionId": self.number}
        if verb == "configureFailPoint":
            fail_point.clear()
            fail_point.update(mode=command["mode"], data=command.get("data", {}))
            return {"ok": 1.0}
        if verb in ("ping", "endSessions"):
            return {"ok": 1.0}
        if verb == "buildInfo":
            return {"version": "7.0.0", "versionArray": [7, 0, 0, 0], "ok": 1.0}
        if verb in ("saslStart", "saslContinue"):
            return self.sasl(command, verb)
        self.failing(verb)
        with lock:
            if verb == "getMore":
                return get_more(command)
            if verb == "killCursors":
                for cursor in command["cursors"]:
                    cursors.pop(cursor, None)
                return {"cursorsKilled": command["cursors"], "ok": 1.0}
            database, name = store[command["$db"]], command[verb]
            if not isinstance(name, str):
                raise Refused(59, "CommandNotFound", f"no such command: '{verb}'")
            collection, namespace = database[name], f"{command['$db']}.{name}"
            if verb == "find":
                return find(collection, namespace, command)
            if verb == "aggregate":
                return aggregate(collection, namespace, command)
            if verb == "insert":
                return insert(collection, command)
            if verb == "update":
                return update(collection, command)
            if verb == "delete":
                return delete(collection, command)
            if verb == "createIndexes":
                return create_indexes(collection, command)
        raise Refused(59, "CommandNotFound", f"no such command: '{verb}'")

    def answer(self, command):
        try:
            return self.run(command)
        except Refused as error:
            return {"ok": 0.0, "errmsg": str(error), "code": error.code, "codeName": error.name}
        except EOFError:
            raise
        except Exception as error:  # whatever mongomock makes of a command is the client's to see
            return {"ok": 0.0, "errmsg": f"{type(error).__name__}: {error}", "code": 2, "codeName": "BadValue"}

    def message(self, body):
        flags = struct.unpack_from("<I", body)[0]
        at, end = 4, len(body) - (4 if flags & 1 else 0)
        command, sequences = None, {}
        while at < end:
            kind, at = body[at], at + 1
            size = struct.unpack_from("<i", body, at)[0]
            if kind == 0:
                command = bson.decode(body[at:at + size], OPTIONS)
            else:
                name_end = body.index(0, at + 4)
                inside, items = name_end + 1, []
                while inside < at + size:
                    length = struct.unpack_from("<i", body, inside)[0]
                    items.append(bson.decode(body[inside:inside + length], OPTIONS))
                    inside += length
                sequences[body[at + 4:name_end].decode()] = items
            at += size
        command.update(sequences)
        return command, flags

    def setup(self):
        if tls:
            self.request = tls.wrap_socket(self.request, server_side=True)

    def handle(self):
        self.number = next(connection_ids)
        try:
            while True:
                size, request, _, operation = struct.unpack("<iiii", self.exactly(16))
                body = self.exactly(size - 16)
                if operation == 2004:  # OP_QUERY, the first hello of a client
                    at = body.index(0, 4) + 9
                    length = struct.unpack_from("<i", body, at)[0]
                    reply = bson.encode(self.answer(bson.decode(body[at:at + length], OPTIONS)))
                    out, operation = struct.pack("<iqii", 8, 0, 0, 1) + reply, 1
                elif operation == 2013:
                    command, flags = self.message(body)
                    reply = bson.encode(self.answer(command))
                    if flags & 2:  # more to come: nobody waits for an answer
                        continue
                    out = struct.pack("<I", 0) + b"\0" + reply
                else:
                    return
                self.request.sendall(struct.pack("<iiii", 16 + len(out), 1, request, operation) + out)
        except (EOFError, OSError):
            pass


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address, daemon_threads, request_queue_size = True, True, 128


if __name__ == "__main__":
    if len(sys.argv) > 3:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(f"{sys.argv[3]}/cert.pem", f"{sys.argv[3]}/key.pem")
    server = Server(("127.0.0.1", int(sys.argv[2])), Connection)
    with open(sys.argv[1] + ".new", "w") as file:
        file.write(str(server.server_address[1]))
    os.rename(sys.argv[1] + ".new", sys.argv[1])
    server.serve_forever()
