<?php
// Receives webhooks of Tabbat. Run it with: WEBHOOK_SECRET=whsec_… php -S 127.0.0.1:3000 receiver.php

const TOLERANCE_S = 300;

function isGenuine(string $body): bool
{
    $key = base64_decode(preg_replace('/^whsec_/', '', getenv('WEBHOOK_SECRET') ?: ''));
    // With an empty key, everyone could sign.
    if ($key === '') {
        return false;
    }
    $id = $_SERVER['HTTP_WEBHOOK_ID'] ?? '';
    $timestamp = $_SERVER['HTTP_WEBHOOK_TIMESTAMP'] ?? '';
    if (!ctype_digit($timestamp) || abs(time() - (int) $timestamp) > TOLERANCE_S) {
        return false;
    }
    $expected = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$timestamp.$body", $key, true));
    // After a roll there are two signatures, separated by a space.
    foreach (explode(' ', $_SERVER['HTTP_WEBHOOK_SIGNATURE'] ?? '') as $given) {
        if (hash_equals($expected, $given)) {
            return true;
        }
    }
    return false;
}

/**
 * False if the id was seen: an event may arrive more than once. Null if it could not be kept. Here each id is a file, which only one request
 * can create. In production, insert the id into a table with a unique column.
 */
function keepId(string $id): ?bool
{
    $folder = getenv('SEEN_FOLDER') ?: sys_get_temp_dir() . '/tabbat-webhooks';
    $file = $folder . '/' . hash('sha256', $id);
    @mkdir($folder, 0700, true);
    if (@fopen($file, 'x') !== false) {
        return true;
    }
    return file_exists($file) ? false : null;
}

// The signature is over these bytes: do not parse and print the body before.
$body = file_get_contents('php://input');
if (!isGenuine($body)) {
    http_response_code(401);
    exit;
}
$isNew = keepId($_SERVER['HTTP_WEBHOOK_ID']);
if ($isNew === null) {
    // It will be sent again.
    http_response_code(500);
    exit;
}
if ($isNew) {
    $event = json_decode($body, true);
    file_put_contents('php://stdout', "{$event['type']} {$event['data']['reference']} {$event['data']['status']}\n");
}
http_response_code(204);
