from django.http import HttpResponse
from django.middleware.csrf import get_token
from django.urls import include, path, reverse
from django.utils.html import format_html


def home(request):
    person = request.user
    token = format_html('<input type="hidden" name="csrfmiddlewaretoken" value="{}">', get_token(request))
    if not person.is_authenticated:
        login = reverse("openid_connect_login", kwargs={"provider_id": "idp"})
        return HttpResponse(format_html('<form method="post" action="{}">{}<button>Sign in</button></form>', login, token))
    return HttpResponse(
        format_html(
            '<form method="post" action="{}">{}Hello {}, {} <button>Sign out</button></form>',
            reverse("account_logout"),
            token,
            person.get_full_name(),
            person.email,
        )
    )


urlpatterns = [path("", home), path("accounts/", include("allauth.urls"))]
