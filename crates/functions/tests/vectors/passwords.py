"""Prints password hashes of argon2-cffi and bcrypt, each with the password it is of."""

import json
from importlib.metadata import version

import bcrypt
from argon2 import PasswordHasher, Type

PASSWORDS = ["correct horse battery staple", "", "zoë 🔑"]


def main():
    hashes = []
    for password in PASSWORDS:
        for kind in (Type.ID, Type.I, Type.D):
            for cost in ((2, 19456, 1), (3, 65536, 4), (1, 8, 1)):
                hasher = PasswordHasher(*cost, type=kind)
                hashes.append({"password": password, "hash": hasher.hash(password)})
        for prefix in (b"2a", b"2b"):
            salt = bcrypt.gensalt(5, prefix)
            hashes.append({"password": password, "hash": bcrypt.hashpw(password.encode(), salt).decode()})
    longest = "0123456789abcdef" * 4 + "01234567"
    salt = bcrypt.gensalt(5)
    hashes.append({"password": longest, "hash": bcrypt.hashpw(longest.encode(), salt).decode()})
    makers = f"argon2-cffi {version('argon2-cffi')}, bcrypt {version('bcrypt')}"
    print(json.dumps({"maker": makers, "hashes": hashes}, indent=2, ensure_ascii=False))


main()
