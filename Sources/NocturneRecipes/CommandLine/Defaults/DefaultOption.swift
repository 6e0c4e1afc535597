import ArgumentParser

/// An option that a profile or an environment variable sets.
package struct DefaultOption: Sendable, Hashable {
    package enum Value: Sendable, Hashable {
        case text(String)
        /// Of a flag: whether it is set.
        case flag(Bool)
    }

    package let option: OptionTable.Option
    package let value: Value
    /// Where it is set, such as "ct.profile, line 3" or "NOCTURNE_MEMORY".
    package let origin: String

    package init(_ option: OptionTable.Option, _ value: Value, origin: String) {
        self.option = option
        self.value = value
        self.origin = origin
    }

    /// - Parameter text: the value as somebody wrote it; empty for none.
    /// - Throws: `ValidationError` for an option without value, and a flag with another value than yes or no.
    package init(_ option: OptionTable.Option, text: String, origin: String) throws {
        guard !option.takesValue else {
            guard !text.isEmpty else { throw ValidationError("\(origin): \(option.name) needs a value") }
            self.init(option, .text(text), origin: origin)
            return
        }
        switch text.lowercased() {
        case "", "yes", "true", "on", "1": self.init(option, .flag(true), origin: origin)
        case "no", "false", "off", "0": self.init(option, .flag(false), origin: origin)
        default:
            throw ValidationError("\(origin): \(option.name) is a flag: write yes or no instead of '\(text)'")
        }
    }

    /// As on a command line; nil for a flag that is not set.
    package var argument: String? {
        switch value {
        case .text(let text): "--\(option.name)=\(text)"
        case .flag(let isSet): isSet ? "--\(option.name)" : nil
        }
    }

    /// Options about one call alone: they have no default in a profile or in the environment.
    package static let onlyOnCommandLine: Set<String> = [
        "output", "list", "shard", "shards", "nodes", "isa", "requeue", "dry-run", "retry-failed", "reviewed", "code",
        "overwrite", "yes", "fault-injection", "profile", "version", "help",
    ]
}
