extension AuditEvent.Kind {
    /// Another user's device, on which the user has signed in.
    static let deviceTakenOver = AuditEvent.Kind("device taken over")
    /// A device of the user, on which another user has signed in.
    static let deviceLost = AuditEvent.Kind("device lost to another user")
}
