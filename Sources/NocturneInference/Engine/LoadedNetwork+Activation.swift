extension LoadedNetwork {
    /// Why an activation cannot be applied to an output: the network ends in one; nil if it can.
    /// - Parameters:
    ///   - output: its name.
    ///   - file: of the network, for the text.
    ///   - applied: what comes after the network.
    ///   - setting: the setting of the package that leaves it out; nil where there is none.
    package func activationFault(
        of output: String?,
        in file: String,
        applied: FinalActivation,
        setting: String? = nil
    ) -> String? {
        guard let own = outputs.first(where: { $0.name == output })?.activation else { return nil }
        let then = own == applied ? "which Nocturne applies" : "to which Nocturne applies \(applied.rawValue)"
        return "\(file) ends in \(own.rawValue), \(then): export it without\(setting.map { ", or set \($0)" } ?? "")"
    }
}
