"""A SAML identity provider by pysaml2: reads a request as it came, checks its signature by our metadata, and prints its own metadata or a response."""
import json
import sys

from functools import partial, partialmethod

import saml2.entity
import saml2.sigver
from saml2 import BINDING_HTTP_POST, BINDING_HTTP_REDIRECT, saml
from saml2.config import IdPConfig
from saml2.server import Server

given = json.load(sys.stdin)
if given.get("encrypt") == "aes128-cbc":
    # The library itself knows Triple DES alone.
    cipher = "http://www.w3.org/2001/04/xmlenc#aes128-cbc"
    saml2.entity.pre_encryption_part = partial(saml2.sigver.pre_encryption_part, msg_enc=cipher)
    backend = saml2.sigver.SecurityContext
    backend.encrypt_assertion = partialmethod(backend.encrypt_assertion, key_type="aes-128")
config = {
    "entityid": "https://pysaml2.example/idp",
    "xmlsec_binary": given["xmlsec1"],
    "key_file": given["key"],
    "cert_file": given["certificate"],
    "service": {
        "idp": {
            "endpoints": {"single_sign_on_service": [("https://pysaml2.example/sso", BINDING_HTTP_REDIRECT)]},
            "want_authn_requests_signed": True,
            "policy": {"default": {"lifetime": {"minutes": 5}, "attribute_restrictions": None, "name_form": saml.NAME_FORMAT_URI}},
            "name_id_format": [saml.NAMEID_FORMAT_PERSISTENT],
        }
    },
}
if "service_provider" in given:
    config["metadata"] = {"inline": [given["service_provider"]]}
server = Server(config=IdPConfig().load(config))

if given["action"] == "metadata":
    from saml2.metadata import entity_descriptor

    print(entity_descriptor(server.config))
else:
    query = given["query"]
    request = server.parse_authn_request(
        query["SAMLRequest"], BINDING_HTTP_REDIRECT, relay_state=query["RelayState"], sigalg=query["SigAlg"], signature=query["Signature"]
    )
    arguments = server.response_args(request.message, [BINDING_HTTP_POST])
    sign_alg = "http://www.w3.org/2001/04/xmldsig-more#" + given["sign_alg"]
    # xmlsec1 knows more of them than the library's list has.
    saml2.entity.SIG_ALLOWED_ALG = (("given", sign_alg),)
    name_id = saml.NameID(format=saml.NAMEID_FORMAT_PERSISTENT, text="grace")
    response = server.create_authn_response(
        identity={"mail": "grace@corp.example", "givenName": "Grace", "sn": "Hopper"},
        userid="grace",
        name_id=name_id,
        authn={"class_ref": saml.AUTHN_PASSWORD_PROTECTED, "authn_instant": given["now"]},
        sign_assertion=given["sign_assertion"],
        sign_response=given["sign_response"],
        encrypt_assertion=bool(given["encrypt"]),
        encrypted_advice_attributes=False,
        sign_alg=sign_alg,
        digest_alg="http://www.w3.org/2001/04/xmlenc#sha256",
        **arguments,
    )
    print(response)
