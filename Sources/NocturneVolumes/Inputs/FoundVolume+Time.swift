import NocturneFormats

extension FoundVolume {
    /// The volumes of a file with several, each by itself. As with the parts of a DICOM series, their names end with the part.
    func timePoints(_ time: VolumeFileHeader.TimeSeries) -> [FoundVolume] {
        (0..<time.count).map { index in
            let point = VolumeSource.TimePoint(index: index, count: time.count, seconds: time.seconds(at: index))
            var found = self
            found.key += ":" + point.part
            found.suffix = "_" + point.part
            found.name += found.suffix
            found.order += ":" + point.part
            found.volume = volume.map { source in
                var source = source
                source.timePoint = point
                return source
            }
            return found
        }
    }
}
