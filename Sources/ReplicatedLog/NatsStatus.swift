import CNats

enum NatsStatus {
    /// The text of a status; that of this thread's last error, if it is of the same status.
    static func text(_ status: natsStatus) -> String {
        var last = NATS_OK
        if let text = nats_GetLastError(&last), last == status {
            let reason = String(cString: text)
            if !reason.isEmpty { return reason }
        }
        return natsStatus_GetText(status).map { String(cString: $0).lowercased() } ?? "error \(status.rawValue)"
    }
}
