/// The service and purpose of a path; all services share one host.
enum EmulatorRoute: Equatable {
    case push(EmulatedService)
    case tokens(TokenAnswers.Issuer)

    /// - Parameter path: Without the query.
    init?(path: String) {
        if path.hasPrefix(ApnsAnswers.path) {
            self = .push(.apns)
        } else if path.hasPrefix(FcmAnswers.pathStart), path.hasSuffix(FcmAnswers.pathEnd), Self.isProject(path) {
            self = .push(.fcm)
        } else if path.hasPrefix(EmulatedDevice.channelPath) {
            self = .push(.wns)
        } else if path.hasPrefix(EmulatedDevice.endpointPath) {
            self = .push(.webPush)
        } else if path == TokenAnswers.googlePath {
            self = .tokens(.google)
        } else if path == TokenAnswers.microsoftAccountPath {
            self = .tokens(.microsoftAccount)
        } else if path.hasSuffix(TokenAnswers.entraPathEnd), path.split(separator: "/").count == 4 {
            self = .tokens(.entra)
        } else {
            return nil
        }
    }

    private static func isProject(_ path: String) -> Bool {
        let length = path.utf8.count - FcmAnswers.pathStart.utf8.count - FcmAnswers.pathEnd.utf8.count
        guard length > 0 else { return false }
        return !path.dropFirst(FcmAnswers.pathStart.count).dropLast(FcmAnswers.pathEnd.count).contains("/")
    }
}
