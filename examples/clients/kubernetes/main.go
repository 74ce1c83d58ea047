// The two ends of a call of kubectl: somebody signs in as kubelogin does it, and the API server's own code says who the ID token is.
package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/apis/apiserver/install"
	"k8s.io/apiserver/plugin/pkg/authenticator/token/oidc"
)

const redirect = "http://localhost:8000"

// configuration reads a file of --authentication-config as the API server does.
func configuration(path string) (apiserver.JWTAuthenticator, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return apiserver.JWTAuthenticator{}, err
	}
	scheme := runtime.NewScheme()
	install.Install(scheme)
	read, err := runtime.Decode(serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDecoder(), text)
	if err != nil {
		return apiserver.JWTAuthenticator{}, err
	}
	return read.(*apiserver.AuthenticationConfiguration).JWT[0], nil
}

// server is the part of an API server that takes bearer tokens; it answers once it has read the discovery document.
func server(ctx context.Context, from apiserver.JWTAuthenticator) (oidc.AuthenticatorTokenWithHealthCheck, error) {
	made, err := oidc.New(ctx, oidc.Options{JWTAuthenticator: from})
	if err != nil {
		return nil, err
	}
	for made.HealthCheck() != nil && ctx.Err() == nil {
		time.Sleep(100 * time.Millisecond)
	}
	return made, ctx.Err()
}

// signIn waits for the browser to come back, and returns the ID token.
func signIn(ctx context.Context, client *oauth2.Config) (string, error) {
	verifier, state := oauth2.GenerateVerifier(), oauth2.GenerateVerifier()
	answers := make(chan string)
	http.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "You are signed in. You can close this page.")
		if r.FormValue("state") == state {
			answers <- r.FormValue("code")
		}
	})
	go func() { log.Fatal(http.ListenAndServe(strings.TrimPrefix(redirect, "http://"), nil)) }()
	fmt.Println("Open", client.AuthCodeURL(state, oauth2.S256ChallengeOption(verifier)))
	token, err := client.Exchange(ctx, <-answers, oauth2.VerifierOption(verifier))
	if err != nil {
		return "", err
	}
	idToken, _ := token.Extra("id_token").(string)
	return idToken, nil
}

type claims struct{ Sub, Name, Email string }

func claimsOf(idToken string) (said claims, err error) {
	body, err := base64.RawURLEncoding.DecodeString(strings.Split(idToken, ".")[1])
	if err != nil {
		return said, err
	}
	return said, json.Unmarshal(body, &said)
}

// refused says what a server lets in that it should not.
func refused(ctx context.Context, idToken string, from apiserver.JWTAuthenticator, but string) error {
	made, err := server(ctx, from)
	if err != nil {
		return err
	}
	if _, ok, err := made.AuthenticateToken(ctx, idToken); ok || err == nil {
		return fmt.Errorf("%s is let in", but)
	}
	return nil
}

func run(ctx context.Context) error {
	from, err := configuration("configuration.yaml")
	if err != nil {
		return err
	}
	made, err := server(ctx, from)
	if err != nil {
		return err
	}
	issuer := from.Issuer.URL
	idToken, err := signIn(ctx, &oauth2.Config{
		ClientID:    from.Issuer.Audiences[0],
		RedirectURL: redirect,
		Scopes:      []string{"openid", "profile", "email"},
		Endpoint:    oauth2.Endpoint{AuthURL: issuer + "/oauth/authorize", TokenURL: issuer + "/oauth/token"},
	})
	if err != nil {
		return err
	}
	said, err := claimsOf(idToken)
	if err != nil {
		return err
	}
	answer, ok, err := made.AuthenticateToken(ctx, idToken)
	if err != nil || !ok {
		return fmt.Errorf("the token is refused: %w", err)
	}
	fmt.Println(answer.User.GetName(), answer.User.GetGroups())
	if answer.User.GetName() != "idp:"+said.Sub || !slices.Equal(answer.User.GetGroups(), []string{"idp:editor"}) {
		return errors.New("the API server knows somebody else")
	}
	parts := strings.Split(idToken, ".")
	if _, ok, err := made.AuthenticateToken(ctx, parts[0]+"."+parts[1]+"."+strings.Repeat("A", len(parts[2]))); ok || err == nil {
		return errors.New("a token with a signature of somebody's own is let in")
	}
	from.Issuer.Audiences = []string{"another client"}
	if err := refused(ctx, idToken, from, "the token of another client"); err != nil {
		return err
	}
	fmt.Printf("Hello %s, %s\n", said.Name, said.Email)
	return nil
}

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}
