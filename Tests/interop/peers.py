#!/usr/bin/env python3
"""Other implementations of JWE (jwcrypto) and of encrypted web push (http_ece), for tests to send to and hear from.

Reads jobs from the input, one JSON object a line, and answers each with a line: {"text": ...}, or {"error": ...}.

    {"form": "jwe", "do": "encrypt" or "decrypt", "key": JWK, "alg": ..., "enc": ..., "text": ...}
    {"form": "webpush" or "webpush-aesgcm", "do": ..., "key": JWK with `auth`, "text": ..., "dh": ..., "salt": ...}

Ciphertexts are text, binary ones in base64url. Whoever encrypts by the older form of web push answers with `dh` and `salt`
too.
"""
import base64, json, os, sys
import http_ece
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from jwcrypto import jwe, jwk

VERSIONS = {"webpush": "aes128gcm", "webpush-aesgcm": "aesgcm"}


def encoded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def decoded(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def jwe_key(job):
    # The alg of a key of ours is one of several that the key serves.
    return jwk.JWK(**{name: value for name, value in job["key"].items() if name != "alg"})


def jwe_encrypt(job):
    header = {"alg": job["alg"], "enc": job["enc"], "kid": job["key"]["kid"]}
    if job.get("zip"):
        header["zip"] = job["zip"]
    token = jwe.JWE(job["text"].encode(), json.dumps(header))
    token.add_recipient(jwe_key(job))
    return {"text": token.serialize(compact=True)}


def jwe_decrypt(job):
    token = jwe.JWE()
    token.deserialize(job["text"], jwe_key(job))
    return {"text": token.payload.decode()}


def point(key):
    return key.public_key().public_bytes(serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)


def push_key(job):
    return ec.derive_private_key(int.from_bytes(decoded(job["key"]["d"]), "big"), ec.SECP256R1())


def push_encrypt(job):
    sender = ec.generate_private_key(ec.SECP256R1())
    salt = os.urandom(16)
    sealed = http_ece.encrypt(
        job["text"].encode(), salt=salt, private_key=sender, dh=point(push_key(job)),
        auth_secret=decoded(job["key"]["auth"]), version=VERSIONS[job["form"]])
    answer = {"text": encoded(sealed)}
    if job["form"] == "webpush-aesgcm":
        answer |= {"dh": encoded(point(sender)), "salt": encoded(salt)}
    return answer


def push_decrypt(job):
    draft = job["form"] == "webpush-aesgcm"
    # What our command prints is padded base64.
    text = http_ece.decrypt(
        base64.b64decode(job["text"]), private_key=push_key(job), auth_secret=decoded(job["key"]["auth"]),
        dh=decoded(job["dh"]) if draft else None, salt=decoded(job["salt"]) if draft else None,
        version=VERSIONS[job["form"]])
    return {"text": text.decode()}


JOBS = {
    ("jwe", "encrypt"): jwe_encrypt, ("jwe", "decrypt"): jwe_decrypt,
    ("webpush", "encrypt"): push_encrypt, ("webpush", "decrypt"): push_decrypt,
    ("webpush-aesgcm", "encrypt"): push_encrypt, ("webpush-aesgcm", "decrypt"): push_decrypt,
}

for line in sys.stdin:
    job = json.loads(line)
    try:
        print(json.dumps(JOBS[job["form"], job["do"]](job)))
    except Exception as error:
        print(json.dumps({"error": f"{type(error).__name__}: {error}"}))
