/// The template of a registration.
package struct RegistrationTemplate: Sendable, Equatable {
    /// Empty for none: half of the clients name no template.
    package var name: String
    /// Compile it with ``Template/init(parsing:)``.
    package var body: String
    /// Template expressions by header name; for `wns`, `mpns` and `apns`.
    package var headers: [String: String]
    /// A template expression, a date-time or `0`; for `apns`.
    package var expiry: String?
    /// A template expression or a number from 0 to 255; for `apns`.
    package var priority: String?
    /// A whole number, for `baidu`.
    package var messageType: String?

    package init(
        name: String,
        body: String,
        headers: [String: String] = [:],
        expiry: String? = nil,
        priority: String? = nil,
        messageType: String? = nil
    ) {
        self.name = name
        self.body = body
        self.headers = headers
        self.expiry = expiry
        self.priority = priority
        self.messageType = messageType
    }
}

extension RegistrationTemplate {
    init(_ template: InstallationTemplate, name: String) {
        self.init(name: name, body: template.body, headers: template.headers, expiry: template.expiry)
    }
}
