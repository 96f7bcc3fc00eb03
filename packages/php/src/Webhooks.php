<?php

declare(strict_types=1);

namespace Tabbat;

final class Webhooks
{
    private const MAX_SIGNATURES = 16;

    /**
     * The event, if its signature is right and it is recent; else an exception with the code invalid_signature.
     *
     * @param array<string, string|list<string>> $headers Names in any case: getallheaders(), or $request->headers->all() of Laravel.
     * @param string $body The bytes as they arrived: file_get_contents('php://input'), or $request->getContent().
     * @param string|list<string> $secret One secret or several, of which one must fit.
     * @param float $toleranceS How old or how far ahead the timestamp may be.
     */
    public static function verify(
        array $headers,
        string $body,
        #[\SensitiveParameter] string|array $secret,
        float $toleranceS = 300,
    ): WebhookEvent {
        $keys = array_map(self::readSecret(...), $secret === [] ? [''] : (array) $secret);
        $headers = array_change_key_case($headers);
        $read = static fn (string $name): string => implode(' ', (array) ($headers["webhook-$name"] ?? []));
        [$id, $timestamp, $signatures] = [$read('id'), $read('timestamp'), $read('signature')];
        if ($id === '' || $signatures === '' || !preg_match('/^[0-9]{1,12}$/D', $timestamp)) {
            throw self::invalidSignature('The headers of the webhook are missing or wrong.');
        }
        if (!(abs(microtime(true) - (int) $timestamp) <= $toleranceS)) {
            throw self::invalidSignature('The webhook is too old, or a clock is wrong.');
        }
        $isFitting = false;
        foreach (array_slice(explode(' ', $signatures), 0, self::MAX_SIGNATURES) as $signature) {
            $given = str_starts_with($signature, 'v1,') ? base64_decode(substr($signature, 3), true) : false;
            foreach ($keys as $key) {
                // All are compared, each in constant time.
                $own = hash_hmac('sha256', "$id.$timestamp.$body", $key, true);
                $isFitting = ($given !== false && hash_equals($own, $given)) || $isFitting;
            }
        }
        if (!$isFitting) {
            throw self::invalidSignature('No signature of the webhook fits the secret.');
        }
        return self::readEvent($id, $body);
    }

    private static function readSecret(#[\SensitiveParameter] mixed $secret): string
    {
        $key = is_string($secret) ? base64_decode(preg_replace('/^whsec_/', '', $secret), true) : false;
        if ($key === false || $key === '') {
            throw TabbatException::invalidArgument('The secret of a webhook is whsec_ and text in base64.');
        }
        return $key;
    }

    private static function readEvent(string $id, string $body): WebhookEvent
    {
        $event = json_decode($body, true);
        if (!is_array($event)) {
            throw new TabbatException('unexpected_response', 'The body of the webhook is not JSON.');
        }
        $text = static fn (string $name): string => is_string($event[$name] ?? null) ? $event[$name] : '';
        return new WebhookEvent($id, $text('type'), $text('timestamp'), (array) ($event['data'] ?? []));
    }

    private static function invalidSignature(string $message): TabbatException
    {
        return new TabbatException('invalid_signature', $message);
    }
}
