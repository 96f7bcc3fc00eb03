// Verifies a NIN and lists bundles with HttpClient and System.Text.Json. .NET 8 or later.

using System.Net.Http.Headers;
using System.Net.Http.Json;
using System.Text.Json;
using System.Text.Json.Nodes;

const int Attempts = 4;
var maxWait = TimeSpan.FromSeconds(60);

var url = Environment.GetEnvironmentVariable("TABBAT_URL") ?? "http://127.0.0.1:8080";
// A redirect is returned, not followed: it would send the number and the phone to another host.
using var handler = new HttpClientHandler { AllowAutoRedirect = false };
using var client = new HttpClient(handler) { BaseAddress = new Uri(url), Timeout = TimeSpan.FromSeconds(30) };
client.DefaultRequestHeaders.Authorization =
    new AuthenticationHeaderValue("Bearer", Environment.GetEnvironmentVariable("TABBAT_KEY"));

Console.WriteLine(await VerifyNin("12345678901", "08031234567"));
Console.WriteLine(await VerifyNin("00000000422", "08031234567"));
Console.WriteLine(await VerifyNin("12345678901", "123"));
var bundles = await ListBundles("smile");
Console.WriteLine(bundles.Count == 0
    ? "bundles: none"
    : $"bundles: {bundles.Count}, the first is {bundles[0]!["code"]} for {bundles[0]!["price"]} naira");

async Task<string> VerifyNin(string nin, string phone)
{
    // The same key for all attempts: a verification that was made is replayed, not made and paid again.
    var key = Guid.NewGuid().ToString();
    var (status, answer) = await Call(() => new HttpRequestMessage(HttpMethod.Post, "/api/v2/kyc/verify-nin")
    {
        Headers = { { "Idempotency-Key", key } },
        Content = JsonContent.Create(new { nin, phone }),
    });
    var data = answer["data"] as JsonObject;
    var reference = ReadText(data?["request_reference"]);
    return (status, ReadText(answer["code"])) switch
    {
        // All of these: a status of 200 may also come from a proxy, or from a network that wants a sign-in.
        (200, _) when IsSuccess(answer) && ReadText(data?["verification_status"]) == "VERIFIED" && reference != "" =>
            $"verified: {reference}",
        (422, "not_verified") when reference != "" => $"not verified: {reference}",
        (422, "validation_failed") when answer["errors"] is JsonObject errors => $"invalid: {JoinTexts(errors)}",
        _ => throw ToException(status, answer),
    };
}

async Task<JsonArray> ListBundles(string provider)
{
    var (status, answer) = await Call(() => new HttpRequestMessage(HttpMethod.Get, $"/api/v2/internet/data/{provider}/lookup"));
    return status == 200 && IsSuccess(answer) && answer["data"] is JsonObject data && data["data"] is JsonArray list
        ? list
        : throw ToException(status, answer);
}

// Sends a request, again if it may succeed later. A message can be sent only once, so every attempt makes the same one anew.
async Task<(int Status, JsonObject Answer)> Call(Func<HttpRequestMessage> toRequest)
{
    for (var attempt = 1; ; attempt++)
    {
        var last = attempt == Attempts;
        try
        {
            using var request = toRequest();
            using var response = await client.SendAsync(request);
            var status = (int)response.StatusCode;
            var answer = ReadJson(await response.Content.ReadAsStringAsync());
            var retryable = answer["retryable"] is JsonValue value && value.TryGetValue(out bool given) ? given : status is >= 502 and <= 504;
            // A date is too long a wait: to retry earlier than told is of no use.
            var wait = response.Headers.RetryAfter is { } told ? told.Delta ?? TimeSpan.MaxValue : TimeSpan.FromSeconds(1);
            if (last || !retryable || wait > maxWait) return (status, answer);
            await Wait(status.ToString(), wait);
        }
        catch (Exception exception) when (exception is HttpRequestException or TaskCanceledException)
        {
            if (last) throw new InvalidOperationException("no answer");
            await Wait("no answer", TimeSpan.FromSeconds(1));
        }
    }
}

// A proxy in front of the server may answer in HTML.
static JsonObject ReadJson(string text)
{
    try
    {
        return JsonNode.Parse(text) as JsonObject ?? new JsonObject();
    }
    catch (JsonException)
    {
        return new JsonObject();
    }
}

static async Task Wait(string reason, TimeSpan time)
{
    Console.WriteLine($"{reason}, trying again in {time.TotalSeconds} s");
    await Task.Delay(time);
}

static bool IsSuccess(JsonObject answer) =>
    answer["success"] is JsonValue value && value.TryGetValue(out bool success) && success;

// Empty if it is missing or no text.
static string ReadText(JsonNode? node) => node is JsonValue value && value.TryGetValue(out string? text) ? text : "";

static string JoinTexts(JsonObject errors) =>
    string.Join("; ", errors.SelectMany(field => field.Value!.AsArray()).Select(ReadText));

// The message never contains what was sent.
static Exception ToException(int status, JsonObject answer)
{
    var code = (status, ReadText(answer["code"])) switch
    {
        (401, _) => "unauthenticated",
        (_, "") => "unexpected_response",
        (_, var text) => text,
    };
    return new InvalidOperationException($"status {status}, code {code}, request {ReadText(answer["request_id"])}");
}
