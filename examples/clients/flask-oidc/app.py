from os import environ
from urllib.parse import urlencode

from flask import Flask, g, redirect, session
from flask_oidc import OpenIDConnect
from markupsafe import escape

home = "http://localhost:5000/"

app = Flask(__name__)
app.config.update(
    SECRET_KEY=environ["SESSION_SECRET"],
    OIDC_CLIENT_SECRETS={
        "web": {
            "issuer": environ["ISSUER"],
            "client_id": environ["CLIENT_ID"],
            "client_secret": environ["CLIENT_SECRET"],
        }
    },
    OIDC_SCOPES="openid profile email",
)
oidc = OpenIDConnect(app)


@app.get("/")
def index():
    if not oidc.user_loggedin:
        return '<a href="/login">Sign in</a>'
    person = g.oidc_user.profile
    return f'Hello {escape(person["name"])}, {escape(person["email"])} <a href="/sign-out">Sign out</a>'


@app.get("/sign-out")
def sign_out():
    """Signs out here and at the provider; flask-oidc's own `/logout` signs out here alone."""
    hint = session.get("oidc_auth_token", {}).get("id_token", "")
    session.clear()
    parameters = {"id_token_hint": hint, "post_logout_redirect_uri": home}
    return redirect(g._oidc_auth.load_server_metadata()["end_session_endpoint"] + "?" + urlencode(parameters))
