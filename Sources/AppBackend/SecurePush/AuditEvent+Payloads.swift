extension AuditEvent.Kind {
    /// A user's device has fetched a payload; refused if there was no payload with this id.
    static let payloadFetched = AuditEvent.Kind("payload fetched")
    /// A user has sent a payload, to themselves or another user.
    static let payloadSent = AuditEvent.Kind("payload sent")
}
