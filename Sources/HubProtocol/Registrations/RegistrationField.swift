/// The elements of registration descriptions, except those that only the hub sets.
///
/// Source: protocol §3.7.
enum RegistrationField: String, CaseIterable {
    case registrationID = "RegistrationId", expirationTime = "ExpirationTime", tags = "Tags"
    case pushVariables = "PushVariables"
    case deviceToken = "DeviceToken", gcmRegistrationID = "GcmRegistrationId"
    case fcmRegistrationID = "FcmRegistrationId", fcmV1RegistrationID = "FcmV1RegistrationId"
    case channelURI = "ChannelUri", secondaryTileName = "SecondaryTileName"
    case admRegistrationID = "AdmRegistrationId", baiduUserID = "BaiduUserId", baiduChannelID = "BaiduChannelId"
    case endpoint = "Endpoint", p256dh = "P256DH", auth = "Auth", xiaomiRegistrationID = "XiaomiRegistrationId"
    case bodyTemplate = "BodyTemplate", expiry = "Expiry", wnsHeaders = "WnsHeaders", mpnsHeaders = "MpnsHeaders"
    case apnsHeaders = "ApnsHeaders", templateName = "TemplateName", priority = "Priority"
    case messageType = "MessageType"

    var name: String { rawValue }

    /// The name by which ``AtomNames/vocabulary`` knows it.
    var qualifiedName: String { AtomNames.serviceBusPrefix + name }

    static let names = Set(allCases.map(\.name))
}
