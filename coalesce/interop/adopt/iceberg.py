"""x"""
def survey_iceberg(*a): raise NotImplementedError
