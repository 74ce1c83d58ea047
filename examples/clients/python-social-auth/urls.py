from os import environ
from urllib.parse import urlencode

from django.contrib.auth import logout
from django.http import HttpResponse
from django.middleware.csrf import get_token
from django.shortcuts import redirect
from django.urls import include, path, reverse
from django.utils.html import format_html
from django.views.decorators.http import require_POST


def home(request):
    person = request.user
    token = format_html('<input type="hidden" name="csrfmiddlewaretoken" value="{}">', get_token(request))
    if not person.is_authenticated:
        login = reverse("social:begin", args=["oidc"])
        return HttpResponse(format_html('<form method="post" action="{}">{}<button>Sign in</button></form>', login, token))
    return HttpResponse(
        format_html(
            '<form method="post" action="{}">{}Hello {}, {} <button>Sign out</button></form>',
            reverse("sign_out"),
            token,
            person.get_full_name(),
            person.email,
        )
    )


@require_POST
def sign_out(request):
    """Signs out here and at the provider."""
    account = request.user.social_auth.get(provider="oidc") if request.user.is_authenticated else None
    logout(request)
    if account is None:
        return redirect("/")
    parameters = {
        "id_token_hint": account.extra_data["id_token"],
        "post_logout_redirect_uri": request.build_absolute_uri("/"),
    }
    return redirect(environ["ISSUER"] + "/oauth/logout?" + urlencode(parameters))


urlpatterns = [
    path("", home),
    path("sign-out", sign_out, name="sign_out"),
    path("", include("social_django.urls", namespace="social")),
]
