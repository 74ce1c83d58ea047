package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"html"
	"log"
	"net/http"
	"net/url"
	"os"
	"sync"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

const home = "http://localhost:5556/"

type session struct{ state, nonce, verifier, idToken, name, email string }

// By the id in the cookie. An application keeps this in a store that outlives the process.
var sessions sync.Map

func sessionOf(r *http.Request) *session {
	if cookie, err := r.Cookie("app"); err == nil {
		if found, ok := sessions.Load(cookie.Value); ok {
			return found.(*session)
		}
	}
	return nil
}

func begin(w http.ResponseWriter, s *session) {
	id := rand.Text()
	sessions.Store(id, s)
	http.SetCookie(w, &http.Cookie{Name: "app", Value: id, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode})
}

func main() {
	provider, err := oidc.NewProvider(context.Background(), os.Getenv("ISSUER"))
	if err != nil {
		log.Fatal(err)
	}
	config := oauth2.Config{
		ClientID:     os.Getenv("CLIENT_ID"),
		ClientSecret: os.Getenv("CLIENT_SECRET"),
		Endpoint:     provider.Endpoint(),
		RedirectURL:  home + "callback",
		Scopes:       []string{oidc.ScopeOpenID, "profile", "email"},
	}
	verifier := provider.Verifier(&oidc.Config{ClientID: config.ClientID})

	http.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("content-type", "text/html; charset=utf-8")
		if s := sessionOf(r); s != nil && s.idToken != "" {
			fmt.Fprintf(w, `Hello %s, %s <a href="/logout">Sign out</a>`, html.EscapeString(s.name), html.EscapeString(s.email))
			return
		}
		fmt.Fprint(w, `<a href="/login">Sign in</a>`)
	})

	http.HandleFunc("GET /login", func(w http.ResponseWriter, r *http.Request) {
		s := &session{state: rand.Text(), nonce: rand.Text(), verifier: oauth2.GenerateVerifier()}
		begin(w, s)
		address := config.AuthCodeURL(s.state, oidc.Nonce(s.nonce), oauth2.S256ChallengeOption(s.verifier))
		http.Redirect(w, r, address, http.StatusFound)
	})

	http.HandleFunc("GET /callback", func(w http.ResponseWriter, r *http.Request) {
		s := sessionOf(r)
		if s == nil || r.FormValue("state") != s.state {
			http.Error(w, "this sign-in was begun elsewhere", http.StatusBadRequest)
			return
		}
		token, err := config.Exchange(r.Context(), r.FormValue("code"), oauth2.VerifierOption(s.verifier))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		raw, _ := token.Extra("id_token").(string)
		idToken, err := verifier.Verify(r.Context(), raw)
		if err != nil || idToken.Nonce != s.nonce {
			http.Error(w, "the ID token is not good", http.StatusBadGateway)
			return
		}
		info, err := provider.UserInfo(r.Context(), oauth2.StaticTokenSource(token))
		if err != nil || info.Subject != idToken.Subject {
			http.Error(w, "no user information", http.StatusBadGateway)
			return
		}
		var claims struct{ Name string }
		if err := info.Claims(&claims); err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		begin(w, &session{idToken: raw, name: claims.Name, email: info.Email})
		http.Redirect(w, r, "/", http.StatusFound)
	})

	http.HandleFunc("GET /logout", func(w http.ResponseWriter, r *http.Request) {
		var discovered struct {
			EndSession string `json:"end_session_endpoint"`
		}
		s := sessionOf(r)
		if s == nil || provider.Claims(&discovered) != nil {
			http.Redirect(w, r, "/", http.StatusFound)
			return
		}
		if cookie, err := r.Cookie("app"); err == nil {
			sessions.Delete(cookie.Value)
		}
		query := url.Values{"id_token_hint": {s.idToken}, "post_logout_redirect_uri": {home}}
		http.Redirect(w, r, discovered.EndSession+"?"+query.Encode(), http.StatusFound)
	})

	log.Fatal(http.ListenAndServe("localhost:5556", nil))
}
