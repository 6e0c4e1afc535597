import NocturneInference

extension VolumeModelSettings {
    /// Lines about a program for `models show`; none for a package that is not a program.
    func programDetails(_ package: ModelPackage) -> [String] {
        guard package.task == Self.programTask else { return [] }
        var lines: [String] = []
        if let grid {
            let spacing = grid.spacing?.map { "\($0)" }.joined(separator: "×")
            lines.append(
                "Grid of the program: RAS, spacing "
                    + (spacing.map { "\($0) mm, resampled by \(grid.resampling.method)" } ?? "of the volume")
            )
        }
        if let region {
            lines.append(
                "Region: \(region.labels.count) labels of \(region.member.path), margin \(region.marginMm) mm"
            )
        }
        for (index, part) in parts.enumerated() {
            let members = part.members.map(\.path).joined(separator: ", ")
            let kind = part.members.count > 1 ? "ensemble of " : ""
            lines.append("Part \(index + 1): \(kind)\(members), labels: \(part.labels.count)")
        }
        return lines
    }
}

extension CascadeLevel {
    /// What `models show` says of a level.
    var details: String {
        let spacing = spacing.map { $0.map { $0.map { "\($0)" } ?? "own" }.joined(separator: "×") + " mm" }
        return "spacing \(spacing ?? "the volume's own"), patch "
            + patchSize.map(String.init).joined(separator: "×")
            + ", step \(tileStep), networks: \(networks.count), mirrored axes: \(mirroringAxes.count)"
    }
}
