from os import environ
from urllib.parse import urlencode

from mozilla_django_oidc.auth import OIDCAuthenticationBackend


class People(OIDCAuthenticationBackend):
    """Finds people by `sub`, which stays when the address changes, and keeps names up to date."""

    def filter_users_by_claims(self, claims):
        return self.UserModel.objects.filter(username=claims["sub"])

    def get_username(self, claims):
        return claims["sub"]

    def create_user(self, claims):
        return self.update_user(super().create_user(claims), claims)

    def update_user(self, user, claims):
        user.email = claims["email"]
        user.first_name = claims.get("given_name", "")
        user.last_name = claims.get("family_name", "")
        user.save()
        return user


def logout_url(request):
    parameters = {
        "id_token_hint": request.session["oidc_id_token"],
        "post_logout_redirect_uri": request.build_absolute_uri("/"),
    }
    return environ["ISSUER"] + "/oauth/logout?" + urlencode(parameters)
