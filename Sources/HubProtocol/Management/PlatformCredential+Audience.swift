extension PlatformCredential.Kind {
    /// The platform whose registrations the credential reaches; `nil` for a kind that this version does not know.
    package var platform: Platform? {
        switch self {
        case .apns: .apns
        case .wns: .wns
        case .gcm: .gcm
        case .mpns: .mpns
        case .adm: .adm
        case .baidu: .baidu
        case .fcmV1: .fcmv1
        case .browser: .browser
        default: nil
        }
    }
}

extension PlatformCredential {
    /// Whose handles the credential reaches: the app, project or team.
    ///
    /// Messages that wait are not sent with a credential of another audience, to which their handles mean nothing. `nil`
    /// where the credential does not tell.
    package var audience: String? {
        let names: [String]
        switch kind {
        case .apns: names = ["AppId", "AppName", "Endpoint"]
        case .fcmV1: names = ["ProjectId"]
        case .wns: names = self["PackageSid"] == nil ? ["ClientId", "TenantId"] : ["PackageSid"]
        default: return nil
        }
        var values = names.map { self[$0]?.lowercased() ?? "" }
        if kind == .apns {
            values[2] = ["sandbox", "development"].contains(where: values[2].contains) ? "sandbox" : ""
        }
        return values[0].isEmpty ? nil : values.joined(separator: " ")
    }
}
