"""A mail server on 127.0.0.1 that says what it received, one JSON object a line, the port first.

It ends when its standard input does. What a recipient is called decides what becomes of a mail: `nobody` is unknown, for
`hang` the mail is never answered, for `cut` the connection ends once the mail is asked for, and a subject with `spam` is
refused after the mail.
"""

import argparse
import asyncio
import email
import email.policy
import json
import logging
import ssl
import sys

from aiosmtpd.smtp import SMTP, AuthResult


def say(**what):
    print(json.dumps(what), flush=True)


class Server(SMTP):
    """One connection. Cuts it where it is told to."""

    connections = 0

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.number = Server.connections
        Server.connections += 1

    async def smtp_DATA(self, arg):
        if any(to.startswith("cut@") for to in self.envelope.rcpt_tos):
            await self.push("354 go on")
            self.transport.abort()
            return
        await super().smtp_DATA(arg)


class Handler:
    async def handle_RCPT(self, server, session, envelope, address, options):
        if address.startswith("nobody@"):
            return "550 5.1.1 no such user"
        envelope.rcpt_tos.append(address)
        return "250 2.1.5 fine"

    async def handle_DATA(self, server, session, envelope):
        if any(to.startswith("hang@") for to in envelope.rcpt_tos):
            say(holds=envelope.rcpt_tos)
            await asyncio.Event().wait()
        mail = email.message_from_bytes(envelope.content, policy=email.policy.default)
        if "spam" in mail["subject"]:
            return "554 5.7.1 not wanted here"
        login = session.auth_data.login.decode() if session.auth_data else None
        say(
            sender=envelope.mail_from,
            recipients=envelope.rcpt_tos,
            login=login,
            tls=server.transport.get_extra_info("sslcontext") is not None,
            hello=session.host_name,
            connection=server.number,
            headers=[[name, str(value)] for name, value in mail.items()],
            parts=[[part.get_content_type(), part.get_content()] for part in mail.walk() if not part.is_multipart()],
            source=envelope.content.decode("utf-8", "replace"),
        )
        return "250 2.0.0 taken"


async def main():
    options = argparse.ArgumentParser()
    options.add_argument("--port", type=int, default=0)
    options.add_argument("--tls", choices=["none", "starttls", "implicit"], default="none")
    options.add_argument("--certificate")
    options.add_argument("--key")
    options.add_argument("--user")
    options.add_argument("--password")
    given = options.parse_args()
    context = None
    if given.tls != "none":
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(given.certificate, given.key)

    def authenticate(server, session, envelope, mechanism, login):
        known = (login.login, login.password) == (given.user.encode(), given.password.encode())
        said = f"535 5.7.8 wrong: {login.login.decode()} {login.password.decode()}"
        return AuthResult(success=known, handled=False, message=None if known else said, auth_data=login)

    def server():
        return Server(
            Handler(),
            hostname="mail.example",
            enable_SMTPUTF8=True,
            tls_context=context if given.tls == "starttls" else None,
            require_starttls=given.tls == "starttls",
            authenticator=authenticate if given.user else None,
            auth_required=given.user is not None,
            auth_require_tls=False,
        )

    loop = asyncio.get_running_loop()
    implicit = context if given.tls == "implicit" else None
    listening = await loop.create_server(server, "127.0.0.1", given.port, ssl=implicit, reuse_address=True)
    say(port=listening.sockets[0].getsockname()[1])
    await loop.run_in_executor(None, sys.stdin.read)
    # Connections end with the process.
    listening.close()


logging.getLogger("mail.log").setLevel(logging.CRITICAL)
asyncio.run(main())
