// Verifies a NIN and lists bundles with the standard library. Go 1.19 or later.
package main

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	attempts       = 4
	maxWaitSeconds = 60
)

var client = &http.Client{
	Timeout: 30 * time.Second,
	// A redirect is returned, not followed: it would send the number and the phone to another host.
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// answer has the fields of all responses that this program reads.
type answer struct {
	Status    int                 `json:"-"`
	Success   bool                `json:"success"`
	Code      string              `json:"code"`
	RequestID string              `json:"request_id"`
	Retryable *bool               `json:"retryable"`
	Errors    map[string][]string `json:"errors"`
	Data      json.RawMessage     `json:"data"`
}

type bundle struct {
	Code  string `json:"code"`
	Price string `json:"price"`
}

// call sends a request, again if it may succeed later. All attempts have the same Idempotency-Key.
func call(method, path string, body any, idempotencyKey string) (answer, error) {
	for attempt := 1; ; attempt++ {
		got, retryAfter, err := send(method, path, body, idempotencyKey)
		seconds, ok := readSeconds(retryAfter)
		if attempt == attempts || !ok || (err == nil && !mayRetry(got)) {
			return got, err
		}
		reason := "no answer"
		if err == nil {
			reason = strconv.Itoa(got.Status)
		}
		fmt.Printf("%s, trying again in %d s\n", reason, seconds)
		time.Sleep(time.Duration(seconds) * time.Second)
	}
}

// readSeconds is not ok if the wait is too long, or a date: to retry earlier than told is of no use.
func readSeconds(retryAfter string) (int, bool) {
	if retryAfter == "" {
		return 1, true
	}
	seconds, err := strconv.Atoi(retryAfter)
	return seconds, err == nil && seconds >= 0 && seconds <= maxWaitSeconds
}

func mayRetry(got answer) bool {
	if got.Retryable != nil {
		return *got.Retryable
	}
	return got.Status >= 502 && got.Status <= 504
}

func send(method, path string, body any, idempotencyKey string) (answer, string, error) {
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return answer{}, "", err
		}
		content = bytes.NewReader(text)
	}
	request, err := http.NewRequest(method, address()+path, content)
	if err != nil {
		return answer{}, "", err
	}
	request.Header.Set("Authorization", "Bearer "+os.Getenv("TABBAT_KEY"))
	request.Header.Set("Content-Type", "application/json")
	if idempotencyKey != "" {
		request.Header.Set("Idempotency-Key", idempotencyKey)
	}
	response, err := client.Do(request)
	if err != nil {
		return answer{}, "", errors.New("no answer")
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return answer{}, "", errors.New("no answer")
	}
	var got answer
	// A proxy in front of the server may answer in HTML.
	if json.Unmarshal(text, &got) != nil {
		got = answer{}
	}
	got.Status = response.StatusCode
	return got, response.Header.Get("Retry-After"), nil
}

func address() string {
	if url := os.Getenv("TABBAT_URL"); url != "" {
		return strings.TrimRight(url, "/")
	}
	return "http://127.0.0.1:8080"
}

func verifyNIN(nin, phone string) (string, error) {
	// The same key for all attempts: a verification that was made is replayed, not made and paid again.
	key := make([]byte, 16)
	if _, err := rand.Read(key); err != nil {
		return "", err
	}
	body := map[string]string{"nin": nin, "phone": phone}
	got, err := call("POST", "/api/v2/kyc/verify-nin", body, hex.EncodeToString(key))
	if err != nil {
		return "", err
	}
	var data struct {
		Reference string `json:"request_reference"`
		Status    string `json:"verification_status"`
	}
	// Of data that is missing or odd, both stay empty.
	_ = json.Unmarshal(got.Data, &data)
	switch {
	// All of these: a status of 200 may also come from a proxy, or from a network that wants a sign-in.
	case got.Status == 200 && got.Success && data.Status == "VERIFIED" && data.Reference != "":
		return "verified: " + data.Reference, nil
	case got.Status == 422 && got.Code == "not_verified" && data.Reference != "":
		return "not verified: " + data.Reference, nil
	case got.Status == 422 && got.Code == "validation_failed":
		var all []string
		for _, texts := range got.Errors {
			all = append(all, texts...)
		}
		return "invalid: " + strings.Join(all, "; "), nil
	}
	return "", toError(got)
}

func listBundles(provider string) ([]bundle, error) {
	got, err := call("GET", "/api/v2/internet/data/"+provider+"/lookup", nil, "")
	if err != nil {
		return nil, err
	}
	var list struct {
		Data []bundle `json:"data"`
	}
	err = json.Unmarshal(got.Data, &list)
	if got.Status != 200 || !got.Success || err != nil || list.Data == nil {
		return nil, toError(got)
	}
	return list.Data, nil
}

// toError never contains what was sent.
func toError(got answer) error {
	if got.Status == 401 {
		got.Code = "unauthenticated"
	} else if got.Code == "" {
		got.Code = "unexpected_response"
	}
	return fmt.Errorf("status %d, code %s, request %s", got.Status, got.Code, got.RequestID)
}

func main() {
	for _, input := range [][2]string{
		{"12345678901", "08031234567"},
		{"00000000422", "08031234567"},
		{"12345678901", "123"},
	} {
		line, err := verifyNIN(input[0], input[1])
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(line)
	}
	bundles, err := listBundles("smile")
	if err != nil {
		log.Fatal(err)
	}
	if len(bundles) == 0 {
		fmt.Println("bundles: none")
		return
	}
	fmt.Printf("bundles: %d, the first is %s for %s naira\n", len(bundles), bundles[0].Code, bundles[0].Price)
}
