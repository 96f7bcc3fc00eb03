<?php

/** Verifies a NIN and lists bundles with cURL. PHP 8.1 or later, with the extension curl. */

declare(strict_types=1);

const ATTEMPTS = 4;

/** Sends a request, again if it may succeed later. All attempts have the same headers. */
function call(string $method, string $path, ?array $body = null, array $headers = []): array
{
    for ($attempt = 1; ; $attempt++) {
        [$status, $answer, $retryAfter] = send($method, $path, $body, $headers);
        $retryable = $answer['retryable'] ?? ($status === 0 || $status >= 502);
        if (!$retryable || $attempt === ATTEMPTS) {
            return [$status, $answer];
        }
        $seconds = ctype_digit($retryAfter) ? min((int) $retryAfter, 60) : 1;
        echo $status === 0 ? 'no answer' : $status, ", trying again in $seconds s\n";
        sleep($seconds);
    }
}

/** One attempt. The status is 0 if there was no answer. */
function send(string $method, string $path, ?array $body, array $headers): array
{
    $retryAfter = '';
    $curl = curl_init(rtrim(getenv('TABBAT_URL') ?: 'http://127.0.0.1:8080', '/') . $path);
    curl_setopt_array($curl, [
        CURLOPT_CUSTOMREQUEST => $method,
        CURLOPT_HTTPHEADER => ['Authorization: Bearer ' . getenv('TABBAT_KEY'), 'Content-Type: application/json', ...$headers],
        CURLOPT_RETURNTRANSFER => true,
        CURLOPT_TIMEOUT => 30,
        CURLOPT_HEADERFUNCTION => function ($curl, string $line) use (&$retryAfter): int {
            if (stripos($line, 'retry-after:') === 0) {
                $retryAfter = trim(substr($line, 12));
            }
            return strlen($line);
        },
    ]);
    if ($body !== null) {
        curl_setopt($curl, CURLOPT_POSTFIELDS, json_encode($body, JSON_THROW_ON_ERROR));
    }
    $text = curl_exec($curl);
    $status = $text === false ? 0 : curl_getinfo($curl, CURLINFO_RESPONSE_CODE);
    // A proxy in front of the server may answer in HTML.
    $answer = json_decode((string) $text, true);
    return [$status, is_array($answer) ? $answer : [], $retryAfter];
}

function verifyNin(string $nin, string $phone): string
{
    // The same key for all attempts: a verification that was made is replayed, not made and paid again.
    $key = bin2hex(random_bytes(16));
    $body = ['nin' => $nin, 'phone' => $phone];
    [$status, $answer] = call('POST', '/api/v2/kyc/verify-nin', $body, ["Idempotency-Key: $key"]);
    $code = $answer['code'] ?? '';
    return match (true) {
        $status === 200 => 'verified: ' . $answer['data']['request_reference'],
        $status === 422 && $code === 'not_verified' => 'not verified: ' . $answer['data']['request_reference'],
        $status === 422 && $code === 'validation_failed' => 'invalid: ' . implode('; ', array_merge(...array_values($answer['errors']))),
        default => throw toException($status, $answer),
    };
}

function listBundles(string $provider): array
{
    [$status, $answer] = call('GET', "/api/v2/internet/data/$provider/lookup");
    return $status === 200 ? $answer['data']['data'] : throw toException($status, $answer);
}

/** The message never contains what was sent. */
function toException(int $status, array $answer): RuntimeException
{
    return new RuntimeException("status $status, code " . ($answer['code'] ?? '') . ', request ' . ($answer['request_id'] ?? ''));
}

// A stack trace would contain the arguments.
ini_set('zend.exception_ignore_args', '1');
echo verifyNin('12345678901', '08031234567'), "\n";
echo verifyNin('00000000422', '08031234567'), "\n";
echo verifyNin('12345678901', '123'), "\n";
$bundles = listBundles('smile');
echo 'bundles: ', count($bundles), ", the first is {$bundles[0]['code']} for {$bundles[0]['price']} naira\n";
