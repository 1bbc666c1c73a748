/// Emulated push services, of which a hub can show what devices received.
package protocol EmulatedInboxes: Sendable {
    /// Returns the messages that a device received, as a JSON document.
    func inboxDocument(of handle: String) throws -> [UInt8]

    /// Makes a push subscription as a browser would.
    func makeBrowserSubscription() -> BrowserPushChannel
}
