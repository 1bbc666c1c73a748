import CNats

enum NatsStatus {
    /// The text of a status; the text of this thread's last error if that has the same status.
    static func text(_ status: natsStatus) -> String {
        var last = NATS_OK
        if let text = nats_GetLastError(&last), last == status {
            // It begins with a place in the library's source: "(conn.c:2088): ".
            let reason = String(cString: text).replacing(#/^\([^)]*\): /#, with: "")
            if let first = reason.first { return first.lowercased() + reason.dropFirst() }
        }
        return natsStatus_GetText(status).map { String(cString: $0).lowercased() } ?? "error \(status.rawValue)"
    }
}
