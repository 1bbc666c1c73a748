/// Who makes a request, proven by a password, a token or another party that is believed.
package struct Caller: Sendable, Equatable {
    package let name: UserName
    /// May notify users other than themselves.
    package let mayNotifyOthers: Bool

    package init(name: UserName, mayNotifyOthers: Bool) {
        self.name = name
        self.mayNotifyOthers = mayNotifyOthers
    }
}
