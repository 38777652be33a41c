"""What each noun takes and answers. One instance validates every request: DRF copies all fields
of a serializer that is made anew, which would cost more than the validation."""
