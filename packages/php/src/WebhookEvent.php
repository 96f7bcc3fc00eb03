<?php

declare(strict_types=1);

namespace Tabbat;

final class WebhookEvent
{
    /**
     * @param string $id The same for every delivery of an event: ignore one that you have seen.
     * @param array<string, mixed> $data reference, status and more. It never holds personal data.
     */
    public function __construct(
        public readonly string $id,
        public readonly string $type,
        public readonly string $timestamp,
        public readonly array $data,
    ) {
    }
}
