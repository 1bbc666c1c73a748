internal import Formats

/// The address of the bus of the user's session.
enum SessionBusAddress {
    /// Finds the address in `$DBUS_SESSION_BUS_ADDRESS`, else the socket of the user's service manager.
    ///
    /// Source: D-Bus Specification, "Well-known message bus instances"; sd_bus_open_user(3).
    static func find(in environment: [String: String]) throws(DesktopError) -> String {
        if let address = environment["DBUS_SESSION_BUS_ADDRESS"], !address.isEmpty { return address }
        guard let directory = environment["XDG_RUNTIME_DIR"], directory.hasPrefix("/") else {
            throw .noBus("$DBUS_SESSION_BUS_ADDRESS and $XDG_RUNTIME_DIR are not set")
        }
        return "unix:path=" + escaped("\(directory)/bus")
    }

    /// Source: D-Bus Specification, "Server addresses": all bytes but these are written as `%` and two digits.
    private static func escaped(_ path: String) -> String {
        PercentEncoding.encode(path, uppercase: false) { byte in
            byte.isASCIILetter || byte.isASCIIDigit || #"-_/.\*"#.utf8.contains(byte)
        }
    }
}
