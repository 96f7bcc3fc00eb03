<?php

declare(strict_types=1);

namespace Tabbat\Internal;

use Tabbat\TabbatException;

/** @internal */
final class ResponseError
{
    private const RETRYABLE_STATUSES = [408, 425, 429, 502, 503, 504];

    /**
     * The error of a response that is not a success. $sent are the texts of the request, which it must not quote.
     *
     * @param array<string, string> $headers
     * @param list<string> $sent
     */
    public static function read(int $status, array $headers, mixed $body, #[\SensitiveParameter] array $sent): TabbatException
    {
        $body = is_array($body) ? $body : [];
        $code = $body['code'] ?? null;
        $isTabbat = is_string($code) && preg_match('/^[a-z_]{1,64}$/D', $code);
        $data = is_array($body['data'] ?? null) ? $body['data'] : [];
        $requestId = self::toSafe($body['request_id'] ?? $headers['x-request-id'] ?? null, $sent) ?? '';
        $reference = self::toSafe($data['request_reference'] ?? null, $sent) ?? '';
        $unknown = TabbatException::unexpectedResponse($status);
        [$errorCode, $message] = match (true) {
            $status === 401 => ['unauthenticated', 'The API key is missing, wrong, revoked or expired.'],
            $isTabbat => [$code, self::toSafe($body['message'] ?? null, $sent) ?? "HTTP $status $code."],
            default => [$unknown->errorCode, $unknown->getMessage()],
        };
        return new TabbatException(
            $errorCode,
            $message,
            status: $status,
            retryable: $isTabbat ? ($body['retryable'] ?? null) === true : in_array($status, self::RETRYABLE_STATUSES, true),
            requestId: preg_match('/^[A-Za-z0-9_.-]{8,64}$/D', $requestId) ? $requestId : null,
            reference: preg_match('/^ver_[0-9a-z]{20,60}$/D', $reference) ? $reference : null,
            fields: self::readFields($body['errors'] ?? null, $sent),
            retryAfterS: Retry::readAfterS($headers),
        );
    }

    /** @return array<string, list<string>> */
    private static function readFields(mixed $errors, #[\SensitiveParameter] array $sent): array
    {
        $fields = [];
        foreach (is_array($errors) ? $errors : [] as $name => $problems) {
            if (preg_match('/^[A-Za-z_-]{1,64}$/D', (string) $name) && self::toSafe($name, $sent) !== null) {
                $texts = is_array($problems) ? array_values($problems) : [];
                $fields[$name] = array_map(static fn (mixed $text): string => self::toSafe($text, $sent) ?? "$name is wrong", $texts);
            }
        }
        return $fields;
    }

    /** A server must not quote values of the request, and a proxy might: such a text is dropped. */
    private static function toSafe(mixed $text, #[\SensitiveParameter] array $sent): ?string
    {
        if (!is_string($text) || !mb_check_encoding($text, 'UTF-8')) {
            return null;
        }
        $lower = mb_strtolower($text, 'UTF-8');
        $words = array_flip(preg_split('/[^\p{L}\p{N}]+/u', $lower) ?: []);
        $digits = self::toDigits($text);
        foreach ($sent as $each) {
            $value = mb_strtolower(trim($each), 'UTF-8');
            $own = self::toDigits($value);
            $isQuoted = isset($words[$value])
                || (strlen($value) > 3 && str_contains($lower, $value))
                || (strlen($own) > 6 && str_contains($digits, substr($own, -7)));
            if ($isQuoted) {
                return null;
            }
        }
        return $text;
    }

    private static function toDigits(#[\SensitiveParameter] string $text): string
    {
        return preg_replace('/[^0-9]/', '', $text) ?? '';
    }
}
