/// Names of the headers that belong to the protocol; HTTP compares them ignoring case.
///
/// Source: protocol §2, §4.1, §5.1; §11 for our own.
package enum HeaderName {
    package static let format = "ServiceBusNotification-Format"
    package static let tags = "ServiceBusNotification-Tags"
    package static let deviceHandle = "ServiceBusNotification-DeviceHandle"
    package static let scheduleTime = "ServiceBusNotification-ScheduleTime"
    package static let apnsExpiry = "ServiceBusNotification-Apns-Expiry"
    /// The name in the service's samples for PHP and Python.
    package static let apnsExpirySample = "ServiceBusNotification-ApnsExpiry"
    package static let trackingID = "TrackingId"
    package static let correlationID = "x-ms-correlation-request-id"
    package static let continuationToken = "X-MS-ContinuationToken"
    package static let version = "x-ms-version"
    /// Our own: the secret of a `stream` installation.
    package static let pushChannel = "Newswire-Push-Channel"
    /// Our own, of a reply: `true` if the request's ``pushChannel`` is the secret of the `stream` installation.
    package static let pushChannelMatch = "Newswire-Push-Channel-Match"
    /// Our own, in the reply to a new hub: `sb://host:port/`, the address of the server for other machines.
    package static let publicEndpoint = "Newswire-Public-Endpoint"
    package static let idempotencyKey = "Idempotency-Key"
    package static let lastEventID = "Last-Event-ID"
}
