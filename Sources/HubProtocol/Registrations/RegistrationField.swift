/// The elements of registration descriptions, except those that only the hub sets.
///
/// Source: protocol §3.7.
enum RegistrationField: Int, CaseIterable {
    case registrationID, expirationTime, tags, pushVariables
    case deviceToken, gcmRegistrationID, fcmRegistrationID, fcmV1RegistrationID, channelURI, secondaryTileName
    case admRegistrationID, baiduUserID, baiduChannelID, endpoint, p256dh, auth, xiaomiRegistrationID
    case bodyTemplate, expiry, wnsHeaders, mpnsHeaders, apnsHeaders, templateName, priority, messageType

    var name: String {
        switch self {
        case .registrationID: "RegistrationId"
        case .expirationTime: "ExpirationTime"
        case .tags: "Tags"
        case .pushVariables: "PushVariables"
        case .deviceToken: "DeviceToken"
        case .gcmRegistrationID: "GcmRegistrationId"
        case .fcmRegistrationID: "FcmRegistrationId"
        case .fcmV1RegistrationID: "FcmV1RegistrationId"
        case .channelURI: "ChannelUri"
        case .secondaryTileName: "SecondaryTileName"
        case .admRegistrationID: "AdmRegistrationId"
        case .baiduUserID: "BaiduUserId"
        case .baiduChannelID: "BaiduChannelId"
        case .endpoint: "Endpoint"
        case .p256dh: "P256DH"
        case .auth: "Auth"
        case .xiaomiRegistrationID: "XiaomiRegistrationId"
        case .bodyTemplate: "BodyTemplate"
        case .expiry: "Expiry"
        case .wnsHeaders: "WnsHeaders"
        case .mpnsHeaders: "MpnsHeaders"
        case .apnsHeaders: "ApnsHeaders"
        case .templateName: "TemplateName"
        case .priority: "Priority"
        case .messageType: "MessageType"
        }
    }

    /// The name by which ``AtomNames/vocabulary`` knows it.
    var qualifiedName: String { AtomNames.serviceBusPrefix + name }

    static let names = Set(allCases.map(\.name))
}
