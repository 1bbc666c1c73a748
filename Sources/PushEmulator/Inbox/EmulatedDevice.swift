/// A device of one service.
struct EmulatedDevice: Hashable, Sendable {
    let service: EmulatedService
    /// A token in lower case, a registration token, topic or condition, or the last part of a channel's or endpoint's
    /// path.
    let id: String

    static let channelPath = "/wns/"
    static let endpointPath = "/push/"

    /// Returns the handle as a registration has it.
    func handle(origin: String) -> String {
        switch service {
        case .apns, .fcm: id
        case .wns: origin + Self.channelPath + id
        case .webPush: origin + Self.endpointPath + id
        }
    }

    /// Returns the devices that a handle can name: one for a URL, otherwise one of each service.
    ///
    /// Only the path of a URL matters: the machine has several names, and the port changes with each start.
    static func named(_ handle: String) -> [EmulatedDevice] {
        guard let scheme = handle.firstRange(of: "://") else {
            return EmulatedService.allCases.map { service in
                EmulatedDevice(service: service, id: service == .apns ? handle.lowercased() : handle)
            }
        }
        let address = handle[scheme.upperBound...].prefix { $0 != "?" && $0 != "#" }
        let path = address.drop { $0 != "/" }
        if path.hasPrefix(channelPath) {
            return [EmulatedDevice(service: .wns, id: String(path.dropFirst(channelPath.count)))]
        }
        if path.hasPrefix(endpointPath) {
            return [EmulatedDevice(service: .webPush, id: String(path.dropFirst(endpointPath.count)))]
        }
        return []
    }
}
