from os import environ
from urllib.parse import urlencode

from authlib.integrations.flask_client import OAuth
from flask import Flask, redirect, session, url_for
from markupsafe import escape

app = Flask(__name__)
app.secret_key = environ["SESSION_SECRET"]

idp = OAuth(app).register(
    "idp",
    server_metadata_url=environ["ISSUER"] + "/.well-known/openid-configuration",
    client_id=environ["CLIENT_ID"],
    client_secret=environ["CLIENT_SECRET"],
    client_kwargs={"scope": "openid profile email", "code_challenge_method": "S256"},
)


@app.get("/")
def home():
    person = session.get("person")
    if person is None:
        return '<a href="/login">Sign in</a>'
    return f'Hello {escape(person["name"])}, {escape(person["email"])} <a href="/logout">Sign out</a>'


@app.get("/login")
def login():
    return idp.authorize_redirect(url_for("callback", _external=True))


@app.get("/callback")
def callback():
    token = idp.authorize_access_token()  # checks state, nonce, signature, iss, aud and exp
    session["person"] = idp.userinfo(token=token)
    session["id_token"] = token["id_token"]
    return redirect("/")


@app.get("/logout")
def logout():
    hint = session.pop("id_token", "")
    session.clear()
    parameters = {"id_token_hint": hint, "post_logout_redirect_uri": url_for("home", _external=True)}
    return redirect(idp.load_server_metadata()["end_session_endpoint"] + "?" + urlencode(parameters))
