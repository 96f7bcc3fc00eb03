import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.MissingNode;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/** Verifies a NIN and lists bundles with java.net.http and Jackson. Java 17 or later. */
public final class Verify {
    private static final int ATTEMPTS = 4;
    private static final int MAX_WAIT_SECONDS = 60;
    private static final String URL = System.getenv().getOrDefault("TABBAT_URL", "http://127.0.0.1:8080");
    private static final ObjectMapper JSON = new ObjectMapper();
    /** A redirect is returned, not followed: it would send the number and the phone to another host. */
    private static final HttpClient CLIENT = HttpClient.newBuilder()
        .version(HttpClient.Version.HTTP_1_1)
        .followRedirects(HttpClient.Redirect.NEVER)
        .connectTimeout(Duration.ofSeconds(5))
        .build();

    private record Answer(int status, JsonNode body) {}

    public static void main(String[] arguments) throws InterruptedException, IOException {
        System.out.println(verifyNin("12345678901", "08031234567"));
        System.out.println(verifyNin("00000000422", "08031234567"));
        System.out.println(verifyNin("12345678901", "123"));
        JsonNode bundles = listBundles("smile");
        if (bundles.isEmpty()) System.out.println("bundles: none");
        else System.out.printf(
            "bundles: %d, the first is %s for %s naira%n",
            bundles.size(), bundles.at("/0/code").asText(), bundles.at("/0/price").asText());
    }

    private static String verifyNin(String nin, String phone) throws InterruptedException, IOException {
        // The same key for all attempts: a verification that was made is replayed, not made and paid again.
        HttpRequest request = to("/api/v2/kyc/verify-nin")
            .header("Idempotency-Key", UUID.randomUUID().toString())
            .POST(BodyPublishers.ofString(JSON.writeValueAsString(Map.of("nin", nin, "phone", phone))))
            .build();
        Answer answer = call(request);
        String reference = answer.body().at("/data/request_reference").asText();
        String state = answer.body().at("/data/verification_status").asText();
        String code = answer.body().path("code").asText();
        // All of these: a status of 200 may also come from a proxy, or from a network that wants a sign-in.
        if (isSuccess(answer) && state.equals("VERIFIED") && !reference.isEmpty()) return "verified: " + reference;
        if (answer.status() == 422 && code.equals("not_verified") && !reference.isEmpty())
            return "not verified: " + reference;
        if (answer.status() == 422 && code.equals("validation_failed"))
            return "invalid: " + String.join("; ", listTexts(answer.body().path("errors")));
        throw toException(answer);
    }

    private static JsonNode listBundles(String provider) throws InterruptedException {
        Answer answer = call(to("/api/v2/internet/data/" + provider + "/lookup").GET().build());
        JsonNode bundles = answer.body().at("/data/data");
        if (!isSuccess(answer) || !bundles.isArray()) throw toException(answer);
        return bundles;
    }

    private static boolean isSuccess(Answer answer) {
        return answer.status() == 200 && answer.body().path("success").booleanValue();
    }

    private static HttpRequest.Builder to(String path) {
        return HttpRequest.newBuilder(URI.create(URL.replaceAll("/+$", "") + path))
            .timeout(Duration.ofSeconds(30))
            .header("Authorization", "Bearer " + System.getenv("TABBAT_KEY"))
            .header("Content-Type", "application/json");
    }

    /** Sends a request, again if it may succeed later. All attempts have the same headers. */
    private static Answer call(HttpRequest request) throws InterruptedException {
        for (int attempt = 1; ; attempt++) {
            boolean last = attempt == ATTEMPTS;
            try {
                HttpResponse<String> response = CLIENT.send(request, BodyHandlers.ofString());
                Answer answer = new Answer(response.statusCode(), readJson(response.body()));
                boolean isUnavailable = answer.status() >= 502 && answer.status() <= 504;
                boolean retryable = answer.body().path("retryable").asBoolean(isUnavailable);
                int seconds = readSeconds(response.headers().firstValue("Retry-After").orElse("1"));
                if (last || !retryable || seconds > MAX_WAIT_SECONDS) return answer;
                pause(answer.status(), seconds);
            } catch (IOException exception) {
                if (last) throw new IllegalStateException("no answer");
                pause("no answer", 1);
            }
        }
    }

    /** A proxy in front of the server may answer in HTML. */
    private static JsonNode readJson(String text) {
        try {
            return JSON.readTree(text);
        } catch (IOException exception) {
            return MissingNode.getInstance();
        }
    }

    /** A date is too long a wait: to retry earlier than told is of no use. */
    private static int readSeconds(String text) {
        return text.matches("[0-9]{1,9}") ? Integer.parseInt(text) : Integer.MAX_VALUE;
    }

    private static void pause(Object reason, int seconds) throws InterruptedException {
        System.out.printf("%s, trying again in %d s%n", reason, seconds);
        Thread.sleep(seconds * 1000L);
    }

    private static List<String> listTexts(JsonNode errors) {
        List<String> texts = new ArrayList<>();
        for (JsonNode field : errors) for (JsonNode text : field) texts.add(text.asText());
        return texts;
    }

    /** The message never contains what was sent. */
    private static IllegalStateException toException(Answer answer) {
        String code = answer.body().path("code").asText("unexpected_response");
        return new IllegalStateException(
            "status " + answer.status() + ", code " + (answer.status() == 401 ? "unauthenticated" : code)
                + ", request " + answer.body().path("request_id").asText());
    }
}
