from django.http import HttpResponse
from django.middleware.csrf import get_token
from django.urls import include, path, reverse
from django.utils.html import format_html


def home(request):
    person = request.user
    if not person.is_authenticated:
        return HttpResponse(format_html('<a href="{}">Sign in</a>', reverse("oidc_authentication_init")))
    return HttpResponse(
        format_html(
            '<form method="post" action="{}">Hello {}, {}'
            '<input type="hidden" name="csrfmiddlewaretoken" value="{}"> <button>Sign out</button></form>',
            reverse("oidc_logout"),
            person.get_full_name(),
            person.email,
            get_token(request),
        )
    )


urlpatterns = [path("", home), path("oidc/", include("mozilla_django_oidc.urls"))]
