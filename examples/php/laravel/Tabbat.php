<?php

declare(strict_types=1);

namespace App\Services;

use GuzzleHttp\Exception\TransferException;
use Illuminate\Http\Client\ConnectionException;
use Illuminate\Http\Client\Response;
use Illuminate\Support\Facades\Http;
use Illuminate\Support\Str;
use RuntimeException;

/** A client of Tabbat for Laravel 8 or later: copy it to app/Services. */
final class Tabbat
{
    private const ATTEMPTS = 4;

    public function __construct(private string $url, private string $key)
    {
    }

    public function verifyNin(string $nin, string $phone): string
    {
        // The same key for all attempts: a verification that was made is replayed, not made and paid again.
        $headers = ['Idempotency-Key' => Str::random(32)];
        $response = $this->call('POST', '/api/v2/kyc/verify-nin', ['json' => ['nin' => $nin, 'phone' => $phone]], $headers);
        return match (true) {
            $response->status() === 200 => 'verified: ' . $response->json('data.request_reference'),
            $response->json('code') === 'not_verified' => 'not verified: ' . $response->json('data.request_reference'),
            $response->json('code') === 'validation_failed' => 'invalid: ' . collect($response->json('errors'))->flatten()->implode('; '),
            default => throw $this->toException($response),
        };
    }

    public function listBundles(string $provider): array
    {
        $response = $this->call('GET', "/api/v2/internet/data/$provider/lookup");
        return $response->status() === 200 ? $response->json('data.data') : throw $this->toException($response);
    }

    /** Sends a request, again if it may succeed later. All attempts have the same headers. */
    private function call(string $method, string $path, array $options = [], array $headers = []): Response
    {
        for ($attempt = 1; ; $attempt++) {
            $last = $attempt === self::ATTEMPTS;
            try {
                $response = Http::baseUrl($this->url)->withToken($this->key)->withHeaders($headers)->timeout(30)
                    ->send($method, $path, $options);
            } catch (ConnectionException | TransferException) {
                // Not as the previous exception: its stack trace could contain the arguments.
                $last && throw new RuntimeException('no answer');
                $this->wait('no answer', 1);
                continue;
            }
            if ($last || !($response->json('retryable') ?? $response->status() >= 502)) {
                return $response;
            }
            $retryAfter = $response->header('Retry-After');
            $this->wait((string) $response->status(), ctype_digit($retryAfter) ? min((int) $retryAfter, 60) : 1);
        }
    }

    private function wait(string $reason, int $seconds): void
    {
        echo "$reason, trying again in $seconds s\n";
        sleep($seconds);
    }

    /** The message never contains what was sent. */
    private function toException(Response $response): RuntimeException
    {
        return new RuntimeException("status {$response->status()}, code {$response->json('code')}, request {$response->json('request_id')}");
    }
}
