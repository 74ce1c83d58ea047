"""A SAML service provider by pysaml2: makes a request for whoever our metadata describes, or prints what it takes from the response to one."""
import json
import sys

import saml2.entity
from saml2 import BINDING_HTTP_POST, BINDING_HTTP_REDIRECT, saml
from saml2.client import Saml2Client
from saml2.config import SPConfig

given = json.load(sys.stdin)
sign_alg = "http://www.w3.org/2001/04/xmldsig-more#" + given.get("sign_alg", "rsa-sha256")
# xmlsec1 knows more of them than the library's list has.
saml2.entity.SIG_ALLOWED_ALG = (("given", sign_alg),)
client = Saml2Client(
    config=SPConfig().load(
        {
            "entityid": given["entity_id"],
            "xmlsec_binary": given["xmlsec1"],
            "key_file": given["key"],
            "cert_file": given["certificate"],
            "metadata": {"inline": [given["identity_provider"]]},
            "allow_unknown_attributes": True,
            "service": {
                "sp": {
                    "endpoints": {"assertion_consumer_service": [(given["acs_url"], BINDING_HTTP_POST)]},
                    "authn_requests_signed": True,
                    "want_assertions_signed": True,
                    "want_response_signed": True,
                    "name_id_format": [saml.NAMEID_FORMAT_PERSISTENT],
                }
            },
        }
    )
)

if given["action"] == "request":
    binding = BINDING_HTTP_POST if given["binding"] == "post" else BINDING_HTTP_REDIRECT
    request_id, info = client.prepare_for_authenticate(
        relay_state="st-1", binding=binding, sign=True, sigalg=sign_alg, digest_alg="http://www.w3.org/2001/04/xmlenc#sha256"
    )
    print(json.dumps({"id": request_id, "location": dict(info["headers"]).get("Location"), "page": info["data"]}))
else:
    response = client.parse_authn_request_response(given["response"], BINDING_HTTP_POST, outstanding={given["id"]: "/"})
    session = response.session_info()
    name_id = session["name_id"]
    print(json.dumps({"name_id": name_id.text, "format": name_id.format, "attributes": session["ava"], "issuer": session["issuer"]}))
