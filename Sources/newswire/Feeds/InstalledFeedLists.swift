import Foundation
import HostSystem

/// Feed lists that an installation has put on this machine.
enum InstalledFeedLists {
    /// Returns the hint for a directory of feed lists that does not exist.
    static func hint(insteadOf directory: String) -> String {
        let environment = ProcessInfo.processInfo.environment
        let configuration = environment["XDG_CONFIG_HOME"] ?? environment["HOME"].map { "\($0)/.config" }
        let folders = [configuration.map { "\($0)/newswire/feeds" }, "/etc/newswire/feeds"].compactMap(\.self)
        guard let installed = folders.first(where: { $0 != directory && HostFile.exists($0) }) else {
            return "pass --feeds DIRECTORY; 'newswire feeds add URL --category NAME --feeds DIRECTORY' creates one"
        }
        let (source, target) = (installed.shellWord, directory.shellWord)
        return "pass --feeds \(source), or copy its lists: mkdir -p \(target) && cp -n \(source)/*.yaml \(target)/"
    }
}
