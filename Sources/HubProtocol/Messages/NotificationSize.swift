/// The largest notifications that push services accept.
///
/// A hub accepts larger ones, up to its own limit, as the service does, and reports `InvalidNotificationSize` for them:
/// a refusal would also keep the message from platforms that accept it.
///
/// Source: protocol §5.1; `docs/push-services.md`, Limits.
package enum NotificationSize {
    /// In bytes; `nil` where none is known.
    ///
    /// The 4,096 bytes of Android and Apple are those of the message itself.
    package static func limit(for format: MessageFormat, headers: ForwardedHeaders = .none) -> Int? {
        if format == .apple, headers["apns-push-type"]?.lowercased() == "voip" { return 5_120 }
        return PlatformDefinition.byFormat[format]?.maximumBytes
    }

    /// The limit that a body exceeds; `nil` if it exceeds none.
    package static func exceeded(by body: [UInt8], _ format: MessageFormat, _ headers: ForwardedHeaders) -> Int? {
        limit(for: format, headers: headers).flatMap { body.count > $0 ? $0 : nil }
    }
}
