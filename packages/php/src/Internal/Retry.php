<?php

declare(strict_types=1);

namespace Tabbat\Internal;

use DateTimeImmutable;
use DateTimeZone;

/** @internal */
final class Retry
{
    private const FIRST_DELAY_S = 0.5;
    private const MAX_DELAY_S = 8.0;

    /**
     * Retry-After as seconds or as a date, which is compared with the clock of the server.
     *
     * @param array<string, string> $headers
     */
    public static function readAfterS(array $headers): ?float
    {
        $text = trim($headers['retry-after'] ?? '');
        if (preg_match('/^[0-9]{1,9}$/D', $text)) {
            return (float) $text;
        }
        $until = self::readDate($text);
        return $until === null ? null : (float) max(0, $until - (self::readDate($headers['date'] ?? '') ?? time()));
    }

    /** Full jitter; after Retry-After never earlier than it says. */
    public static function toDelayS(int $retries, ?float $afterS = null): float
    {
        $isTold = $afterS !== null && $afterS > 0;
        $longestS = $isTold ? self::FIRST_DELAY_S : min(self::MAX_DELAY_S, self::FIRST_DELAY_S * 2 ** min($retries, 10));
        return ($afterS ?? 0) + random_int(0, PHP_INT_MAX) / PHP_INT_MAX * $longestS;
    }

    private static function readDate(string $text): ?int
    {
        $date = DateTimeImmutable::createFromFormat('D, d M Y H:i:s \G\M\T', trim($text), new DateTimeZone('UTC'));
        return $date === false ? null : $date->getTimestamp();
    }
}
