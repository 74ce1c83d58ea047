from html import escape
from os import environ
from urllib.parse import urlencode

from authlib.integrations.starlette_client import OAuth
from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, RedirectResponse
from starlette.middleware.sessions import SessionMiddleware

home = "http://localhost:8000/"

app = FastAPI()
app.add_middleware(SessionMiddleware, secret_key=environ["SESSION_SECRET"], https_only=home.startswith("https:"))

oauth = OAuth()
oauth.register(
    "idp",
    server_metadata_url=environ["ISSUER"] + "/.well-known/openid-configuration",
    client_id=environ["CLIENT_ID"],
    client_secret=environ["CLIENT_SECRET"],
    client_kwargs={"scope": "openid profile email", "code_challenge_method": "S256"},
)


@app.get("/", response_class=HTMLResponse)
async def index(request: Request):
    person = request.session.get("person")
    if person is None:
        return '<a href="/login">Sign in</a>'
    return f'Hello {escape(person["name"])}, {escape(person["email"])} <a href="/logout">Sign out</a>'


@app.get("/login")
async def login(request: Request):
    return await oauth.idp.authorize_redirect(request, home + "callback")


@app.get("/callback")
async def callback(request: Request):
    token = await oauth.idp.authorize_access_token(request)  # checks state, nonce, signature, iss, aud and exp
    request.session["person"] = dict(await oauth.idp.userinfo(token=token))
    request.session["id_token"] = token["id_token"]
    return RedirectResponse("/")


@app.get("/logout")
async def logout(request: Request):
    hint = request.session.get("id_token", "")
    request.session.clear()
    metadata = await oauth.idp.load_server_metadata()
    parameters = {"id_token_hint": hint, "post_logout_redirect_uri": home}
    return RedirectResponse(metadata["end_session_endpoint"] + "?" + urlencode(parameters))
